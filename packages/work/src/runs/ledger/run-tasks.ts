import type { JsonObject } from '@flotilla/protocol/json-value'
import type { TaskAnswer } from '@flotilla/protocol/task'
import type { RunNote } from './run-inbox.ts'
import type { RunRecord } from './run-record.ts'

/** Delivers a note to a run; `source` notifies a run once. Joins the caller's transaction. */
export type NotifyRun = (runId: string, source: string, note: RunNote) => void

/** Marks a note as read within the turn, so that no later turn gets it. Joins the caller's transaction. */
export type TakeNote = (runId: string, source: string) => void

interface TaskWork {
  readonly inputData: JsonObject
  readonly context: JsonObject
  /** The answer to the assignee's own question, if that answer started this run; otherwise null. */
  readonly answer: TaskAnswer | null
}

/**
 * The ledger's interface to tasks, which it does not import. All calls are synchronous and join the ledger's
 * transaction where it has one.
 */
export interface RunTasks {
  /** Ids of tasks that this run handed off and that an agent still works on. Blocked ones are not among them. */
  openChildren(runId: string): readonly string[]
  /** The task, while its assignee has neither closed nor blocked it; else null. */
  awaited(taskId: string): { readonly title: string } | null
  /** The task as its assignee gets it in this run, the same for each attempt. Null if the task does not exist. */
  work(taskId: string, runId: string): TaskWork | null
  /** Ids of tasks whose title contains the words, newest first; ASCII letters match in either case. */
  titled(words: string, limit: number): readonly string[]
  /** A run that works on the task was dispatched. */
  began(run: RunRecord): void
  /** A run of the task has ended; the task is updated if it is still open. */
  runSettled(run: RunRecord, tell: NotifyRun): void
}
