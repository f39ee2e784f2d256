import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { completeStatuses } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunDelivery, RunLifecycle } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import { artifactsOf } from './hand-off.ts'
import type { MoveTask } from './move-task.ts'
import { taskView } from './task-table.ts'
import type { TaskRecord, TaskTable } from './task-table.ts'

export interface CompleteTaskInput {
  readonly taskId: string
  readonly status: keyof typeof completeStatuses
  readonly summary: string
  readonly result: JsonValue
  /** Names of files that the assignee saved, and that the creator of the task may read. */
  readonly artifacts?: readonly string[]
}

/**
 * Closes or blocks a task, for its assignee; the creator is notified at once, before the run ends. A repeated call
 * has no effect. Throws the Problems `denied`, `stale-fence`, `not-found` (also for callers other than the assignee),
 * `conflict` if the task's state does not allow it or its run has unfinished hand-offs.
 */
export type CompleteTask = (caller: Caller, input: CompleteTaskInput) => TaskView

export function createCompleteTask(deps: {
  readonly database: Database
  readonly ledger: Pick<RunLifecycle, 'live'> & Pick<RunDelivery, 'notifyRun'>
  readonly table: TaskTable
  readonly moveTask: MoveTask
  readonly guard: Guard
}): CompleteTask {
  const { database, ledger, table, moveTask } = deps
  return (caller, { taskId, status, summary, result, artifacts = [] }) => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    deps.guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    return database.transaction(() => {
      const task = requireOwn({ ledger, table }, caller, taskId)
      if (task.state === status && task.summary === summary) return taskView(task)
      if (status === 'done' && caller.run?.taskId === taskId) refuseWhileChildrenWork(table, caller.run.runId)
      const moved = moveTask(task, {
        action: completeStatuses[status],
        actor: actorOf(caller),
        words: summary,
        changes: {
          summary,
          result: result ?? task.result,
          artifacts: artifactsOf(caller, artifacts, task.artifacts),
          waits_for: null,
          ...(status === 'blocked' ? { blocked_by: 'question' } : {}),
        },
        notify: ledger.notifyRun,
      })
      if (!moved) throw refusedEnd(task)
      return taskView(moved)
    })
  }
}

/** Builds the problem for a task that cannot be completed now, for example while it waits for an answer. */
function refusedEnd({ state }: TaskRecord): Problem {
  const detail = `the task is ${state}, so it cannot be completed`
  if (state !== 'blocked') return new Problem('conflict', { detail })
  const repair =
    'End your turn. The task stays blocked until its creator answers; you then get the answer in a new turn.'
  return new Problem('conflict', { detail, repair })
}

/** Returns a task of the calling agent, which must call in its live run. Problems `stale-fence` and `not-found`. */
export function requireOwn(
  { ledger, table }: { readonly ledger: Pick<RunLifecycle, 'live'>; readonly table: Pick<TaskTable, 'find'> },
  caller: Extract<Caller, { kind: 'agent' }>,
  taskId: string,
): TaskRecord {
  if (!caller.run) throw new Problem('stale-fence')
  ledger.live.ticketOf(caller.run.runId, caller.run.fence)
  const task = table.find(taskId)
  if (!task || task.assignee !== caller.agentId) throw new Problem('not-found')
  return task
}

/** Throws while hand-offs of the run are open: completing the task would close it before their results arrive. */
function refuseWhileChildrenWork(table: TaskTable, runId: string): void {
  const open = table.workedChildren(runId)
  if (open.length === 0) return
  throw new Problem('conflict', {
    detail: `you handed off ${open.join(', ')}, which has not ended yet: end your turn; you are called again with the result`,
  })
}
