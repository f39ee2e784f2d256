import type { JsonObject } from '@flotilla/protocol/json-value'
import type { TaskAnswer } from '@flotilla/protocol/task'
import type { RunOutcome } from '@flotilla/protocol/run'
import { unconfirmedSummary } from '@flotilla/protocol/task-actions'
import type { Blocker, TaskActionName, TaskState } from '@flotilla/protocol/task-actions'
import type { RunRecord, RunTasks, NotifyRun } from '../runs/index.ts'
import type { MoveTask } from './move-task.ts'
import type { TaskHistory, TaskHistoryRow } from './task-history.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

/** The summary of a task that failed because its run, although it succeeded, ended without a text. */
const endedSilent = 'The agent ended without complete_task and without an answer.'
/** Limits of the history that an agent gets when it continues or takes over a task: entries and characters. */
const earlierMax = 20
/** The maximum length of one history entry that an agent gets with a continued task, in characters. */
const earlierMaxChars = 2000

/**
 * Failures that the work itself caused: the agent had all it needed and did not finish. All other failures are faults
 * of the fleet, which block the task, so that it can be retried.
 */
const ownFailures: readonly string[] = ['rounds-exhausted', 'tool-loop-terminated', 'context-exhausted']

/**
 * The interface of tasks for the run ledger. Only `complete_task` confirms that a task is done. If a run ends well
 * without that call, although its agent was reminded, its last text becomes the result, marked as unconfirmed.
 */
export function createTasksOfRuns({
  table,
  history,
  moveTask,
}: {
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly moveTask: MoveTask
}): RunTasks {
  const awaited = (taskId: string) => {
    const task = table.find(taskId)
    return task && (task.state === 'pending' || task.state === 'accepted' || task.state === 'working')
      ? task
      : null
  }
  /** Returns the task of the run; null if the run has no task, or if the task has another run now. */
  const workedOn = (run: RunRecord): TaskRecord | null => {
    const task = run.taskId === null ? null : table.find(run.taskId)
    return task?.run_id === run.id ? task : null
  }

  return {
    awaited,
    openChildren: table.workedChildren,
    titled: table.titled,
    work: (taskId, runId) => {
      const task = table.find(taskId)
      if (!task) return null
      const { title, description, data } = task
      const rows = rowsBefore(history.of(task.id), { runId, isNewest: task.run_id === runId })
      return {
        inputData: { title, description, data },
        context: contextOf(task, rows),
        answer: answerTo(rows),
      }
    },
    began: (run) => {
      const task = workedOn(run)
      if (task) moveTask(task, { action: 'begin', actor: 'system', words: run.id, notify: null })
    },
    runSettled: (run: RunRecord, notify: NotifyRun) => {
      const task = workedOn(run)
      const end = task && run.outcome ? endOf(run.outcome, task.state) : null
      if (task && end) {
        const { action, summary, blocker } = end
        moveTask(task, {
          action,
          actor: 'system',
          words: summary,
          changes: { summary, waits_for: null, ...(blocker === null ? {} : { blocked_by: blocker }) },
          notify,
        })
      }
      if (run.outcome?.status === 'cancelled') cancelWaiting(run, notify)
    },
  }

  /** Cancels hand-offs of a run that have no run yet; the ledger itself cancels the run's child runs. */
  function cancelWaiting(run: RunRecord, notify: NotifyRun): void {
    const summary = 'The run that gave the task was cancelled.'
    for (const task of table.waitingFrom(run.id)) {
      moveTask(task, {
        action: 'cancel',
        actor: 'system',
        words: summary,
        changes: { summary, waits_for: null },
        notify,
      })
    }
  }
}

/**
 * Returns the context of a task besides its input. It is the same for each attempt of a run: a continued attempt must
 * get the same task, so progress notes of the run's own agent are left out.
 */
function contextOf(task: TaskRecord, rows: readonly TaskHistoryRow[]): JsonObject {
  const given = task.artifacts.filter((one) => one.agent_id !== task.assignee)
  return {
    creator: task.creator,
    ...(task.project === null ? {} : { project: task.project }),
    ...(given.length === 0 ? {} : { artifacts: given }),
    ...(rows.some(({ action }) => setsGoing.includes(action)) ? { earlier: earlierOf(rows) } : {}),
  }
}

const setsGoing: readonly string[] = ['answer', 'retry', 'reroute']

/**
 * Returns the history before this run. While an earlier run still works, its task may already be answered or
 * restarted; the next attempt of that run must get the same input as its first attempt. Pure.
 */
function rowsBefore(
  rows: readonly TaskHistoryRow[],
  run: { readonly runId: string; readonly isNewest: boolean },
): readonly TaskHistoryRow[] {
  const began = run.isNewest
    ? -1
    : rows.findIndex(({ action, words }) => action === 'begin' && words === run.runId)
  return began === -1 ? rows : rows.slice(0, began)
}

function earlierOf(rows: readonly TaskHistoryRow[]): string[] {
  const last = rows.findLastIndex(({ action }) => setsGoing.includes(action))
  return rows
    .slice(0, last + 1)
    .filter(({ action, words }) => action !== 'begin' && words !== '')
    .slice(-earlierMax)
    .map(({ action, actor, words }) => `${action} by ${actor}: ${words.slice(0, earlierMaxChars)}`)
}

/** The actions with which an agent asks a question. */
const asks: readonly string[] = ['block', 'blocked'] satisfies TaskActionName[]

/** Returns the answer with which this round began, if it answers a question of the assignee; else null. */
function answerTo(rows: readonly TaskHistoryRow[]): TaskAnswer | null {
  const at = rows.findLastIndex(({ action }) => setsGoing.includes(action))
  if (at === -1) return null
  const [question, answer] = [rows.slice(0, at).findLast(({ state }) => state === 'blocked'), rows[at]]
  if (answer?.action !== 'answer' || question === undefined || !asks.includes(question.action)) return null
  return { by: answer.actor, text: answer.words }
}

interface TaskEnd {
  readonly action: Extract<TaskActionName, 'assume' | 'fail' | 'cancel' | 'lose'>
  readonly summary: string
  readonly blocker: Blocker | null
}

/**
 * Returns the effect of a run's end on its task; null if the task does not change. A blocked task stays blocked when
 * its run ends well. Pure.
 */
function endOf(outcome: RunOutcome, state: TaskState): TaskEnd | null {
  const { status, code = '', text } = outcome
  const summary = [code, text].filter(Boolean).join(': ')
  switch (status) {
    case 'done':
      if (state === 'blocked') return null
      if (text.trim() === '') return { action: 'fail', summary: endedSilent, blocker: null }
      return { action: 'assume', summary: unconfirmedSummary(text), blocker: null }
    case 'cancelled':
      return { action: 'cancel', summary: text, blocker: null }
    case 'failed':
      if (ownFailures.includes(code)) return { action: 'fail', summary, blocker: null }
      // Blocks the task, because the budget may be available again later.
      if (code === 'budget-exhausted') return { action: 'lose', summary, blocker: 'budget' }
      return { action: 'lose', summary, blocker: 'infrastructure' }
    case 'expired':
      return { action: 'lose', summary, blocker: 'infrastructure' }
  }
}
