import type { Clock } from '@flotilla/protocol/clock'
import type { TaskView } from '@flotilla/protocol/task'
import type { Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import { taskView } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

const hourMs = 3600 * 1000

export interface StaleTasksPage {
  /** Nothing happened to them for so long. */
  readonly hours: number
  readonly agentId?: string | undefined
  readonly limit: number
}

/** Open tasks that nothing happened to for a while, the longest first. Problem `denied`. */
export function createListStaleTasks(deps: {
  readonly table: TaskTable
  readonly guard: Guard
  readonly clock: Clock
}): (caller: Caller, page: StaleTasksPage) => readonly TaskView[] {
  return (caller, { hours, agentId, limit }) => {
    deps.guard(caller, { do: 'view-fleet' })
    return deps.table.staleSince(deps.clock.now() - hours * hourMs, { agentId, limit }).map(taskView)
  }
}
