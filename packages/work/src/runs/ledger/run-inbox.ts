import { terminalRunStates } from '@flotilla/protocol/run'
import { approvalStates } from '@flotilla/protocol/agent-edit'
import { taskStates } from '@flotilla/protocol/task-actions'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'

/** The notes that a run can receive between its turns. */
const runNoteSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('task-result'),
    taskId: z.string(),
    title: z.string(),
    assignee: z.string(),
    state: z.enum(taskStates),
    summary: z.string(),
    result: z.nullable(jsonValueSchema),
  }),
  /** A person's decision on an approval of this run. */
  z.strictObject({
    kind: z.literal('approval-outcome'),
    approvalId: z.string(),
    summary: z.string(),
    state: z.enum(approvalStates),
    detail: z.string(),
  }),
  /** Reminds the run that its task is still open although its turn has ended. */
  z.strictObject({ kind: z.literal('task-reminder'), taskId: z.string(), title: z.string() }),
  /** The answer to a steer that this run sent and that arrived after the steered work had ended. */
  z.strictObject({
    kind: z.literal('steer-answer'),
    agent: z.string(),
    said: z.string(),
    state: z.enum(terminalRunStates),
    text: z.string(),
  }),
  /** A person used the agent's browser or was asked to; `after` is null when the current page is unknown. */
  z.strictObject({
    kind: z.literal('browser-returned'),
    how: z.enum(['returned', 'solved', 'expired', 'lost']),
    before: z.strictObject({ url: z.string(), title: z.string() }),
    after: z.nullable(z.strictObject({ url: z.string(), title: z.string() })),
    /** Time in milliseconds since 1970; null in rows of earlier releases. */
    at: z.number().nullable().default(null),
  }),
  /** Another agent's answer to a message that this run sent. */
  z.strictObject({
    kind: z.literal('message-answer'),
    agent: z.string(),
    said: z.string(),
    state: z.enum(terminalRunStates),
    text: z.string(),
  }),
])
export type RunNote = z.infer<typeof runNoteSchema>

const rowSchema = z.object({ id: z.number(), source: z.string(), note: jsonColumn(runNoteSchema) })
export interface InboxRow {
  readonly id: number
  readonly source: string
  readonly note: RunNote
}

/** Stored in place of a turn number for a note that the run read within a turn. */
const withinTurn = -1

export type RunInbox = ReturnType<typeof createRunInbox>

/**
 * Stores notes for runs. Each note is bound to one turn when that turn is dispatched, and a repeated attempt of the
 * turn reads the same notes. So each note is given to exactly one turn.
 */
export function createRunInbox(database: Database) {
  return {
    /** Stores a note. Returns false when the run already has a note of that source. */
    add: (runId: string, source: string, entry: { readonly note: RunNote; readonly at: number }): boolean =>
      database
        .prepare('INSERT OR IGNORE INTO run_inbox (run_id, source, note, arrived_at) VALUES (?, ?, ?, ?)')
        .run(runId, source, JSON.stringify(entry.note), entry.at).changes === 1,
    has: (runId: string, source: string): boolean =>
      database.prepare('SELECT 1 FROM run_inbox WHERE run_id = ? AND source = ?').get(runId, source) !==
      undefined,
    /**
     * Marks a note as read within the current turn, so that no later turn gets it. Returns false when the note does
     * not exist or was given before.
     */
    take: (runId: string, source: string): boolean =>
      database
        .prepare('UPDATE run_inbox SET given_turn = ? WHERE run_id = ? AND source = ? AND given_turn IS NULL')
        .run(withinTurn, runId, source).changes === 1,
    unseen: (runId: string): readonly InboxRow[] =>
      database
        .prepare('SELECT id, source, note FROM run_inbox WHERE run_id = ? AND given_turn IS NULL ORDER BY id')
        .all(runId)
        .map((row) => rowSchema.parse(row)),
    ofTurn: (runId: string, turn: number): readonly InboxRow[] =>
      database
        .prepare('SELECT id, source, note FROM run_inbox WHERE run_id = ? AND given_turn = ? ORDER BY id')
        .all(runId, turn)
        .map((row) => rowSchema.parse(row)),
    bind: (ids: readonly number[], turn: number): void => {
      for (const id of ids) {
        database.prepare('UPDATE run_inbox SET given_turn = ? WHERE id = ?').run(turn, id)
      }
    },
  }
}
