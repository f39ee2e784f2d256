import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { changeStates } from '@flotilla/protocol/agent-edit'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn, readRows } from '@flotilla/foundation/storage'

const rowSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  field: z.string(),
  before: jsonColumn(jsonValueSchema),
  after: jsonColumn(jsonValueSchema),
  actor: z.string(),
  reason: z.string(),
  idempotency_key: z.string().nullable(),
  /** SHA-256 of the requested edit. */
  digest: z.string(),
  state: z.enum(changeStates),
  takes_effect: z.enum(['now', 'next-run']),
  applied_at: z.number(),
  expires_at: z.number(),
  undone_at: z.number().nullable(),
  undone_by: z.string().nullable(),
  /** Set if the mesh was killed during the change: the agent's current value shows whether the change was made. */
  cut_off: z.number(),
})
/** A stored change of an agent. `applying` until its effect is known to be written. */
export type ChangeRow = Readonly<z.infer<typeof rowSchema>>

export type NewChange = Omit<ChangeRow, 'state' | 'takes_effect' | 'undone_at' | 'undone_by' | 'cut_off'>

const columns =
  'id, agent_id, field, before, after, actor, reason, idempotency_key, digest, state, takes_effect, applied_at, expires_at, undone_at, undone_by, cut_off'
/** How many changes are kept; of older ones the audit log has only digests. */
const keptMax = 2000

export type ChangeTable = ReturnType<typeof createChangeTable>

/** Reads and writes the rows of changes with the values before and after; callers make the decisions. */
export function createChangeTable(database: Database) {
  const { many } = readRows(database, rowSchema)

  return {
    /** Stores the change before it is made, and again if the edit restarts with a newer current value. */
    begin: (change: NewChange): void => {
      database
        .prepare(
          `INSERT INTO changes (id, agent_id, field, before, after, actor, reason, idempotency_key, digest, state, takes_effect, applied_at, expires_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'applying', 'now', ?, ?)
           ON CONFLICT (id) DO UPDATE SET before = excluded.before, after = excluded.after`,
        )
        .run(
          change.id,
          change.agent_id,
          change.field,
          JSON.stringify(change.before),
          JSON.stringify(change.after),
          change.actor,
          change.reason,
          change.idempotency_key,
          change.digest,
          change.applied_at,
          change.expires_at,
        )
      database
        .prepare('DELETE FROM changes WHERE position <= (SELECT max(position) FROM changes) - ?')
        .run(keptMax)
    },
    applied: (id: string, takesEffect: ChangeRow['takes_effect']): void => {
      database
        .prepare(
          "UPDATE changes SET state = 'applied', takes_effect = ?, cut_off = 0 WHERE id = ? AND (state = 'applying' OR cut_off = 1)",
        )
        .run(takesEffect, id)
    },
    failed: (id: string): void => {
      database.prepare("UPDATE changes SET state = 'failed', idempotency_key = NULL WHERE id = ?").run(id)
    },
    /** Marks the change as undone; false if it was undone already. */
    undone: (id: string, by: string, at: number): boolean =>
      database
        .prepare(
          "UPDATE changes SET state = 'undone', undone_by = ?, undone_at = ? WHERE id = ? AND state = 'applied'",
        )
        .run(by, at, id).changes === 1,
    find: (id: string): ChangeRow | null =>
      many(`SELECT ${columns} FROM changes WHERE id = ?`, id)[0] ?? null,
    findByKey: (actor: string, key: string): ChangeRow | null =>
      many(`SELECT ${columns} FROM changes WHERE actor = ? AND idempotency_key = ?`, actor, key)[0] ?? null,
    /** Lists changes, newest first. */
    list: (page: {
      readonly agentId?: string | undefined
      readonly actor?: string | undefined
      readonly limit: number
    }) =>
      many(
        `SELECT ${columns} FROM changes WHERE (? = '' OR agent_id = ?) AND (? = '' OR actor = ?) ORDER BY position DESC LIMIT ?`,
        page.agentId ?? '',
        page.agentId ?? '',
        page.actor ?? '',
        page.actor ?? '',
        page.limit,
      ),
    /**
     * Marks changes that a dead mesh left in progress as applied: undoing compares with the current value, so that is
     * safe. A repeated request with the same key makes the change if it is missing.
     */
    settleCutOff: (): void => {
      database.prepare("UPDATE changes SET state = 'applied', cut_off = 1 WHERE state = 'applying'").run()
    },
    forget: (agentId: string): void => {
      database.prepare('DELETE FROM changes WHERE agent_id = ?').run(agentId)
    },
  }
}

/** True if both values are equal as JSON, whatever the order of keys in memory. Pure. */
export function sameJson(one: JsonValue, other: JsonValue): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, index) => sameJson(entry, other[index] ?? null))
  }
  if (isJsonObject(one) && isJsonObject(other)) {
    const names = Object.keys(one)
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && sameJson(one[name] ?? null, other[name] ?? null))
    )
  }
  return one === other
}
