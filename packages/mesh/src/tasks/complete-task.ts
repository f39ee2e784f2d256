import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller, Guard } from '../access/index.ts'
import { actorOf } from '../access/index.ts'
import type { Ledger } from '../runs/index.ts'
import type { Database } from '../storage/index.ts'
import type { MoveTask } from './move-task.ts'
import { taskView } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

export interface CompleteTaskInput {
  readonly taskId: string
  readonly status: 'done' | 'failed' | 'blocked'
  readonly summary: string
  readonly result: JsonValue
}

/**
 * The assignee says how its task went; whoever gave it is told at once, before the run ends. The same words again
 * change nothing. Problems: `denied`, `stale-fence`, `not-found` (also for anyone but the assignee), `conflict`
 * where the task's state does not allow it, or while work that its run handed on is not done.
 */
export type CompleteTask = (caller: Caller, input: CompleteTaskInput) => TaskView

export function createCompleteTask(deps: {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'live' | 'tellRun'>
  readonly table: TaskTable
  readonly moveTask: MoveTask
  readonly guard: Guard
}): CompleteTask {
  const { database, ledger, table, moveTask, guard } = deps
  return (caller, { taskId, status, summary, result }) => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    return database.transaction(() => {
      if (!caller.run) throw new Problem('stale-fence')
      ledger.live.ticketOf(caller.run.runId, caller.run.fence)
      const task = table.find(taskId)
      if (!task || task.assignee !== caller.agentId) throw new Problem('not-found')
      if (task.state === status && task.summary === summary) return taskView(task)
      if (status === 'done' && caller.run.taskId === taskId) refuseWhileChildrenWork(table, caller.run.runId)
      const move = { to: status, actor: actorOf(caller), summary, result, tell: ledger.tellRun }
      const moved = moveTask(task, move)
      if (!moved) throw new Problem('conflict', { detail: `the task is ${task.state}` })
      return taskView(moved)
    })
  }
}

/** Words said before the results are there would be the task's end, and the results would find nobody. */
function refuseWhileChildrenWork(table: TaskTable, runId: string): void {
  const open = table.workedChildren(runId)
  if (open.length === 0) return
  throw new Problem('conflict', {
    detail: `${open.join(', ')}, which you handed on, is not done yet: end your turn, you will go on with the result`,
  })
}
