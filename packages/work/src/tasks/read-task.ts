import type { TaskView } from '@flotilla/protocol/task'
import type { Caller } from '@flotilla/identity/access'
import type { TaskAccess } from './task-access.ts'
import type { TaskHistory, TaskHistoryRow } from './task-history.ts'
import { taskView } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

/** The maximum number of child tasks that the view of one task lists. */
const childrenMax = 100

export interface TaskDetail {
  readonly task: TaskView
  /** The steps of the task, oldest first. */
  readonly history: readonly TaskHistoryRow[]
  /** Ids of tasks that runs of this task handed off. */
  readonly children: readonly string[]
}

/**
 * Returns a task with its history, for its creator, its assignee, its project and callers that route tasks. Throws
 * Problem `not-found`.
 */
export function createReadTask(deps: {
  readonly access: TaskAccess
  readonly table: TaskTable
  readonly history: TaskHistory
}): (caller: Caller, taskId: string) => TaskDetail {
  return (caller, taskId) => {
    const task = deps.access.requireSeen(caller, taskId)
    return {
      task: taskView(task),
      history: deps.history.of(taskId),
      children: deps.table.childIds(taskId, childrenMax),
    }
  }
}
