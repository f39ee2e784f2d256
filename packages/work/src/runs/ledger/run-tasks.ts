import type { JsonObject } from '@flotilla/protocol/json-value'
import type { TaskAnswer } from '@flotilla/protocol/task'
import type { RunNote } from './run-inbox.ts'
import type { RunRecord } from './run-record.ts'

/** Delivers a note to a run, once for each `source`. Joins the caller's transaction. */
export type NotifyRun = (runId: string, source: string, note: RunNote) => void

/** Marks a note as read within the run's turn, so that no later turn gets it. Joins the caller's transaction. */
export type TakeNote = (runId: string, source: string) => void

interface TaskWork {
  readonly inputData: JsonObject
  readonly context: JsonObject
  /** The answer to the assignee's question, if that answer started this run; otherwise null. */
  readonly answer: TaskAnswer | null
}

/**
 * The ledger's interface to the tasks module, which the ledger does not import. All calls are synchronous and join
 * the transaction of the ledger, if there is one.
 */
export interface RunTasks {
  /** Returns the ids of tasks that this run handed off and that an agent works on. Blocked tasks are left out. */
  openChildren(runId: string): readonly string[]
  /** Returns the task while its assignee has neither closed nor blocked it; else null. */
  awaited(taskId: string): { readonly title: string } | null
  /** Returns the task as its assignee gets it in this run, equal for each attempt. Null if the task is missing. */
  work(taskId: string, runId: string): TaskWork | null
  /** Returns the ids of tasks whose title contains the words, newest first, ignoring the case of ASCII letters. */
  titled(words: string, limit: number): readonly string[]
  /** Called when a run that works on a task was dispatched. */
  began(run: RunRecord): void
  /** Called when a run of a task has ended; updates the task if it is still open. */
  runSettled(run: RunRecord, notify: NotifyRun): void
}
