import { deliveryStates, deliveryWays } from '@flotilla/protocol/webhook-api'
import type { DeliveryState, DeliveryWay } from '@flotilla/protocol/webhook-api'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** One row of a webhook's history. Times are milliseconds since 1970. */
export interface DeliveryRow {
  readonly number: number
  readonly hookId: string
  readonly way: DeliveryWay
  readonly state: DeliveryState
  readonly code: string | null
  readonly reason: string | null
  readonly senderId: string | null
  readonly sizeBytes: number
  readonly count: number
  readonly runId: string | null
  readonly outcome: string | null
  readonly replayOf: number | null
  /** The part of the payload that the agent gets, sanitized and cut. */
  readonly payload: string | null
  readonly at: number
  readonly settledAt: number | null
}

export type NewDelivery = Pick<
  DeliveryRow,
  'hookId' | 'way' | 'state' | 'senderId' | 'sizeBytes' | 'replayOf' | 'payload' | 'at'
> & {
  readonly code?: string | null
  readonly reason?: string | null
  /** The digest of the body, if the sender's signature covers only the body. */
  readonly digest?: string | null
}

const rowSchema = z
  .object({
    number: z.number(),
    hook_id: z.string(),
    way: z.enum(deliveryWays),
    state: z.enum(deliveryStates),
    code: z.string().nullable(),
    reason: z.string().nullable(),
    sender_id: z.string().nullable(),
    size_bytes: z.number(),
    count: z.number(),
    run_id: z.string().nullable(),
    outcome: z.string().nullable(),
    replay_of: z.number().nullable(),
    payload: z.string().nullable(),
    at: z.number(),
    settled_at: z.number().nullable(),
  })
  .transform((row): DeliveryRow => ({
    number: row.number,
    hookId: row.hook_id,
    way: row.way,
    state: row.state,
    code: row.code,
    reason: row.reason,
    senderId: row.sender_id,
    sizeBytes: row.size_bytes,
    count: row.count,
    runId: row.run_id,
    outcome: row.outcome,
    replayOf: row.replay_of,
    payload: row.payload,
    at: row.at,
    settledAt: row.settled_at,
  }))

export type DeliveryTable = ReturnType<typeof createDeliveryTable>

/** Reads and writes the rows of deliveries; callers make the decisions. */
export function createDeliveryTable(database: Database) {
  const many = (sql: string, ...values: (string | number)[]): readonly DeliveryRow[] =>
    database
      .prepare(`SELECT * FROM webhook_deliveries ${sql}`)
      .all(...values)
      .map((row) => rowSchema.parse(row))
  const taken = "state IN ('accepted', 'skipped') AND way = 'sender'"

  return {
    /** Inserts a row and returns its number. */
    insert: (row: NewDelivery): number => {
      const { lastInsertRowid } = database
        .prepare(
          `INSERT INTO webhook_deliveries (hook_id, way, state, code, reason, sender_id, digest, size_bytes, count,
             replay_of, payload, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
        )
        .run(
          row.hookId,
          row.way,
          row.state,
          row.code ?? null,
          row.reason ?? null,
          row.senderId,
          row.digest ?? null,
          row.sizeBytes,
          row.replayOf,
          row.payload,
          row.at,
        )
      return Number(lastInsertRowid)
    },
    setRun: (number: number, runId: string) => {
      database.prepare('UPDATE webhook_deliveries SET run_id = ? WHERE number = ?').run(runId, number)
    },
    setCount: (number: number, count: number) => {
      database.prepare('UPDATE webhook_deliveries SET count = ? WHERE number = ?').run(count, number)
    },
    settle: (runId: string, outcome: string, at: number) => {
      database
        .prepare('UPDATE webhook_deliveries SET outcome = ?, settled_at = ? WHERE run_id = ?')
        .run(outcome, at, runId)
    },
    find: (hookId: string, number: number) =>
      many('WHERE hook_id = ? AND number = ?', hookId, number)[0] ?? null,
    /** Returns an accepted delivery with this sender id; if only the body is signed, the body must match too. */
    bySenderId: (hookId: string, senderId: string, digest: string | null) =>
      many(
        `WHERE hook_id = ? AND sender_id = ? AND ifnull(digest, '') = ? AND ${taken}`,
        hookId,
        senderId,
        digest ?? '',
      )[0] ?? null,
    /** Returns deliveries, newest first. */
    page: (hookId: string, { limit, before }: { readonly limit: number; readonly before: number }) =>
      many('WHERE hook_id = ? AND number < ? ORDER BY number DESC LIMIT ?', hookId, before, limit),
    countsOf: (hookId: string): { readonly counts: Record<DeliveryState, number>; lastAt: number | null } => {
      const counts = { accepted: 0, duplicate: 0, skipped: 0, refused: 0, limited: 0 }
      let lastAt: number | null = null
      const rows = database
        .prepare(
          'SELECT state, sum(count) AS count, max(at) AS last FROM webhook_deliveries WHERE hook_id = ? GROUP BY state',
        )
        .all(hookId)
      for (const row of rows) {
        const state = deliveryStates.find((one) => one === row['state'])
        if (state) counts[state] = Number(row['count'])
        lastAt = Math.max(lastAt ?? 0, Number(row['last']))
      }
      return { counts, lastAt }
    },
    dropOlder: (then: number) => {
      database.prepare('DELETE FROM webhook_deliveries WHERE at < ?').run(then)
    },
    /**
     * Deletes rows beyond the newest `kept` that are older than `then`. Accepted and rejected deliveries
     * are counted separately, so that rejected requests of strangers never displace accepted deliveries.
     */
    dropBehind: (hookId: string, kept: number, then: number) => {
      for (const kind of ["state IN ('accepted', 'skipped')", "state NOT IN ('accepted', 'skipped')"]) {
        database
          .prepare(
            `DELETE FROM webhook_deliveries WHERE hook_id = ? AND ${kind} AND at < ? AND number <= (SELECT number FROM
               webhook_deliveries WHERE hook_id = ? AND ${kind} ORDER BY number DESC LIMIT 1 OFFSET ?)`,
          )
          .run(hookId, then, hookId, kept)
      }
    },
    dropPayloads: (hookId: string, kept: number, then: number) => {
      database
        .prepare(
          `UPDATE webhook_deliveries SET payload = NULL WHERE hook_id = ? AND payload IS NOT NULL AND (at < ? OR
             number <= (SELECT number FROM webhook_deliveries WHERE hook_id = ? AND payload IS NOT NULL
               ORDER BY number DESC LIMIT 1 OFFSET ?))`,
        )
        .run(hookId, then, hookId, kept)
    },
  }
}
