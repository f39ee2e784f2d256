import type { Clock } from '@flotilla/protocol/clock'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { NewId } from '@flotilla/protocol/ids'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'

const outboxStates = ['pending', 'delivered', 'undeliverable'] as const

const noteSchema = z.object({
  id: z.string(),
  source: z.string(),
  recipient: z.string(),
  run_id: z.string(),
  body: jsonColumn(jsonValueSchema),
  state: z.enum(outboxStates),
  detail: z.string(),
  created_at: z.number(),
  settled_at: z.number().nullable(),
})
/**
 * A notification that must be delivered: the outcome of a run, or the end of a task. `recipient` is `run:<id>` or
 * `human:<channel>`.
 */
type OutboxNote = z.infer<typeof noteSchema>

interface NewOutboxNote {
  /** What the notification is about, e.g. `run:<id>`; each recipient is notified once per source. */
  readonly source: string
  readonly recipient: string
  readonly runId: string
  readonly body: JsonValue
}

export type Outbox = ReturnType<typeof createOutbox>

const columns = 'id, source, recipient, run_id, body, state, detail, created_at, settled_at'

/** Stores notifications to deliver (R4, R5). Each is written in the transaction of the change that it reports. */
export function createOutbox(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
}) {
  const { database, clock, newId } = deps

  return {
    /** Stores a notification. Returns false when the same source has notified this recipient already. */
    add: (note: NewOutboxNote): boolean =>
      database
        .prepare(
          "INSERT OR IGNORE INTO outbox (id, source, recipient, run_id, body, state, detail, created_at) VALUES (?, ?, ?, ?, ?, 'pending', '', ?)",
        )
        .run(newId('note'), note.source, note.recipient, note.runId, JSON.stringify(note.body), clock.now())
        .changes === 1,
    markFor: (
      note: { readonly source: string; readonly recipient: string },
      state: 'delivered' | 'undeliverable',
      detail = '',
    ): void => {
      database
        .prepare(
          "UPDATE outbox SET state = ?, detail = ?, settled_at = ? WHERE source = ? AND recipient = ? AND state <> 'delivered'",
        )
        .run(state, detail, clock.now(), note.source, note.recipient)
    },
    /** Marks the outcome as read by the person who started the run, even after delivery was given up. */
    outcomeRead: (runId: string): void => {
      database
        .prepare(
          "UPDATE outbox SET state = 'delivered', detail = '', settled_at = ? WHERE source = ? AND recipient LIKE 'human:%' AND state <> 'delivered'",
        )
        .run(clock.now(), `run:${runId}`)
    },
    /** Marks all pending notifications of this recipient as undeliverable. */
    giveUpFor: (recipient: string, detail: string): void => {
      database
        .prepare(
          "UPDATE outbox SET state = 'undeliverable', detail = ?, settled_at = ? WHERE recipient = ? AND state = 'pending'",
        )
        .run(detail, clock.now(), recipient)
    },
    /** Marks old unread notifications to people as undeliverable. People can still see and read them. */
    giveUpBefore: (then: number): void => {
      database
        .prepare(
          "UPDATE outbox SET state = 'undeliverable', detail = 'the time to read it has passed', settled_at = ? WHERE state = 'pending' AND recipient LIKE 'human:%' AND created_at <= ?",
        )
        .run(clock.now(), then)
    },
    /** Returns notifications that were not delivered yet, newest first. */
    open: (limit: number): readonly OutboxNote[] =>
      database
        .prepare(`SELECT ${columns} FROM outbox WHERE state <> 'delivered' ORDER BY created_at DESC LIMIT ?`)
        .all(limit)
        .map((row) => noteSchema.parse(row)),
    ofRun: (runId: string): readonly OutboxNote[] =>
      database
        .prepare(`SELECT ${columns} FROM outbox WHERE run_id = ? ORDER BY created_at`)
        .all(runId)
        .map((row) => noteSchema.parse(row)),
  }
}
