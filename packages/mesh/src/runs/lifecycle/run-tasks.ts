import type { JsonObject } from '@flotilla/protocol/json-value'
import type { TaskAnswer } from '@flotilla/protocol/task'
import type { RunNote } from '../delivery/run-inbox.ts'
import type { RunRecord } from './run-record.ts'

/** Puts news before a run; `source` tells a run once. In the caller's transaction. */
export type NotifyRun = (runId: string, source: string, note: RunNote) => void

/** The run read that news while it worked, so that no later turn is told of it. In the caller's transaction. */
export type TakeNote = (runId: string, source: string) => void

interface TaskWork {
  readonly inputData: JsonObject
  readonly context: JsonObject
  /** To its assignee's own question; null where it begins otherwise. */
  readonly answer: TaskAnswer | null
}

/**
 * What the ledger asks of tasks, which it does not know. All calls are synchronous and in the
 * ledger's transaction where it has one.
 */
export interface RunTasks {
  /** Ids of tasks that this run gave and that someone still works on. A blocked one is not among them. */
  openChildren(runId: string): readonly string[]
  /** The task, while its assignee has neither closed it nor called it blocked; else null. */
  awaited(taskId: string): { readonly title: string } | null
  /** What the assignee is told in this run, by each attempt the same. Null when there is no such task. */
  work(taskId: string, runId: string): TaskWork | null
  /** Ids of tasks whose title has the words, newest first; letters of ASCII in either case. */
  titled(words: string, limit: number): readonly string[]
  /** A run that works on the task was dispatched. */
  began(run: RunRecord): void
  /** A run that works on a task has ended; the task follows where it is still open. */
  runSettled(run: RunRecord, tell: NotifyRun): void
}
