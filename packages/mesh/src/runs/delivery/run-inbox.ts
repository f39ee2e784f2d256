import { terminalRunStates } from '@flotilla/protocol/run'
import { approvalStates } from '@flotilla/protocol/agent-edit'
import { taskStates } from '@flotilla/protocol/task-actions'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { jsonColumn } from '../../storage/index.ts'
import type { Database } from '../../storage/index.ts'

/** What a run is told between its turns. */
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
  /** What a person decided on something that the run asked for. */
  z.strictObject({
    kind: z.literal('approval-outcome'),
    approvalId: z.string(),
    summary: z.string(),
    state: z.enum(approvalStates),
    detail: z.string(),
  }),
  /** Its task is still open although its turn has ended. */
  z.strictObject({ kind: z.literal('task-reminder'), taskId: z.string(), title: z.string() }),
  /** What it said to an agent at work came too late for that work, and was answered on its own. */
  z.strictObject({
    kind: z.literal('steer-answer'),
    agent: z.string(),
    said: z.string(),
    state: z.enum(terminalRunStates),
    text: z.string(),
  }),
  /** A person had its browser, or was asked to; `after` is null where nobody knows what it shows now. */
  z.strictObject({
    kind: z.literal('browser-returned'),
    how: z.enum(['returned', 'solved', 'expired', 'lost']),
    before: z.strictObject({ url: z.string(), title: z.string() }),
    after: z.nullable(z.strictObject({ url: z.string(), title: z.string() })),
    /** Milliseconds since 1970; meshes before this one left it out. */
    at: z.number().nullable().default(null),
  }),
  /** What another agent answered to a message of this run. */
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

/** In the place of a turn's number, for news that its run read while it worked. */
const withinTurn = -1

export type RunInbox = ReturnType<typeof createRunInbox>

/**
 * News for runs. Each note is bound to one turn when that turn is dispatched, and a repeated attempt of the turn
 * reads the same notes: so each is given exactly once.
 */
export function createRunInbox(database: Database) {
  return {
    /** False when a note of that source is there already. */
    add: (runId: string, source: string, entry: { readonly note: RunNote; readonly at: number }): boolean =>
      database
        .prepare('INSERT OR IGNORE INTO run_inbox (run_id, source, note, arrived_at) VALUES (?, ?, ?, ?)')
        .run(runId, source, JSON.stringify(entry.note), entry.at).changes === 1,
    has: (runId: string, source: string): boolean =>
      database.prepare('SELECT 1 FROM run_inbox WHERE run_id = ? AND source = ?').get(runId, source) !==
      undefined,
    /** Read within a turn, by whoever waited for it: no turn is given it. False where one was, or there is none. */
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
