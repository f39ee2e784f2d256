import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { WorkEvents } from '../events/index.ts'
import type { RunTasks } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import { createMoveTask } from './move-task.ts'
import type { MoveTask } from './move-task.ts'
import { createTaskHistory } from './task-history.ts'
import type { TaskHistory } from './task-history.ts'
import { createTaskTable } from './task-table.ts'
import type { TaskTable } from './task-table.ts'
import { createTasksOfRuns } from './tasks-of-runs.ts'

/** The stored tasks, created before the run ledger, which needs them; hand-offs are created after the ledger. */
export interface TaskStore {
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly moveTask: MoveTask
  /** The interface of tasks that the run ledger uses. */
  readonly ofRuns: RunTasks
}

export function createTaskStore(kernel: {
  readonly database: Database
  readonly events: EventBus
  readonly journal: Journal
  readonly workEvents: Pick<WorkEvents, 'taskChanged'>
  readonly clock: Clock
}): TaskStore {
  const table = createTaskTable(kernel.database)
  const history = createTaskHistory(kernel.database)
  const moveTask = createMoveTask({ ...kernel, table, history })
  return { table, history, moveTask, ofRuns: createTasksOfRuns({ table, history, moveTask }) }
}
