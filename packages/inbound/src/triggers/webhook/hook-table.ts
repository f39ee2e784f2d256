import { hookRepeats } from '@flotilla/protocol/webhook-api'
import type { HookRepeats } from '@flotilla/protocol/webhook-api'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** A webhook. Times are milliseconds since 1970. */
export interface Hook {
  readonly id: string
  readonly name: string
  readonly agentId: string
  readonly instructions: string
  /** The condition of the webhook; null if every payload starts a run. */
  readonly when: string | null
  /** The maximum number of deliveries per minute; null if the owner's setting applies. */
  readonly perMinute: number | null
  readonly enabled: boolean
  /** Whether a repeated body without a signed id is a duplicate or a new delivery. */
  readonly repeats: HookRepeats
  /** The number of the current secret; null if deliveries need no signature. */
  readonly secretNumber: number | null
  /** The number of the secret before the last rotation, which is valid until `previousUntil`. */
  readonly previousNumber: number | null
  readonly previousUntil: number | null
  /** How many secrets the webhook has had. Their numbers are never reused. */
  readonly secretsMade: number
  readonly createdAt: number
}

const rowSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    agent_id: z.string(),
    instructions: z.string(),
    condition: z.string().nullable(),
    per_minute: z.number().nullable(),
    enabled: z.number(),
    repeats: z.enum(hookRepeats),
    secret_number: z.number().nullable(),
    previous_number: z.number().nullable(),
    previous_until: z.number().nullable(),
    secrets_made: z.number(),
    created_at: z.number(),
  })
  .transform((row): Hook => ({
    id: row.id,
    name: row.name,
    agentId: row.agent_id,
    instructions: row.instructions,
    when: row.condition,
    perMinute: row.per_minute,
    enabled: row.enabled === 1,
    repeats: row.repeats,
    secretNumber: row.secret_number,
    previousNumber: row.previous_number,
    previousUntil: row.previous_until,
    secretsMade: row.secrets_made,
    createdAt: row.created_at,
  }))

export type HookTable = ReturnType<typeof createHookTable>

/** Reads and writes the rows of webhooks; callers make the decisions. */
export function createHookTable(database: Database) {
  const many = (sql: string, ...values: (string | number)[]): readonly Hook[] =>
    database
      .prepare(`SELECT * FROM webhooks ${sql}`)
      .all(...values)
      .map((row) => rowSchema.parse(row))

  return {
    find: (id: string): Hook | null => many('WHERE id = ?', id)[0] ?? null,
    all: () => many('ORDER BY created_at, id'),
    ofAgent: (agentId: string) => many('WHERE agent_id = ?', agentId),
    count: () => Number(database.prepare('SELECT count(*) AS count FROM webhooks').get()?.['count'] ?? 0),
    /** Inserts or updates the whole row. */
    write: (hook: Hook) => {
      database
        .prepare(
          `INSERT INTO webhooks (id, name, agent_id, instructions, condition, per_minute, enabled, repeats, secret_number,
             previous_number, previous_until, secrets_made, created_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET name = excluded.name, agent_id = excluded.agent_id,
             instructions = excluded.instructions, condition = excluded.condition, per_minute = excluded.per_minute,
             enabled = excluded.enabled, repeats = excluded.repeats, secret_number = excluded.secret_number,
             previous_number = excluded.previous_number, previous_until = excluded.previous_until,
             secrets_made = excluded.secrets_made`,
        )
        .run(
          hook.id,
          hook.name,
          hook.agentId,
          hook.instructions,
          hook.when,
          hook.perMinute,
          hook.enabled ? 1 : 0,
          hook.repeats,
          hook.secretNumber,
          hook.previousNumber,
          hook.previousUntil,
          hook.secretsMade,
          hook.createdAt,
        )
    },
    /** Removes the webhook and its deliveries. */
    remove: (id: string) => {
      database.prepare('DELETE FROM webhooks WHERE id = ?').run(id)
    },
  }
}
