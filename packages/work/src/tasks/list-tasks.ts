import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller, Guard } from '@flotilla/identity/access'
import { taskView } from './task-table.ts'
import type { TaskPageRows, TaskTable } from './task-table.ts'

/** The maximum number of tasks in each list of an inbox, newest first. */
const inboxMax = 50
const hourMs = 3600 * 1000

interface Deps {
  readonly table: TaskTable
  readonly guard: Guard
}

export interface Inbox {
  readonly assigned: readonly TaskView[]
  readonly given: readonly TaskView[]
}

export interface StaleTaskPage {
  readonly agentId?: string | undefined
  readonly limit: number
  /** Only tasks that have not changed for this time, hours. */
  readonly hours: number
}

/** Lists the open tasks of the calling agent, and the tasks that it gave. Throws Problem `denied`. */
export function createListInbox({ table, guard }: Deps): (caller: Caller) => Inbox {
  return (caller) => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    return {
      assigned: table.openOf(caller.agentId, inboxMax).map(taskView),
      given: table.givenBy(caller.agentId, inboxMax).map(taskView),
    }
  }
}

/** Lists all tasks, newest first, for people and callers who may view the fleet. Throws Problem `denied`. */
export function createListTasks({
  table,
  guard,
}: Deps): (caller: Caller, page: TaskPageRows) => readonly TaskView[] {
  return (caller, page) => {
    guard(caller, { do: 'view-fleet' })
    return table.list(page).map(taskView)
  }
}

/** Lists open tasks that have not changed for some time, the longest first. Throws Problem `denied`. */
export function createListStaleTasks({
  table,
  guard,
  clock,
}: Deps & { readonly clock: Clock }): (caller: Caller, page: StaleTaskPage) => readonly TaskView[] {
  return (caller, { hours, agentId, limit }) => {
    guard(caller, { do: 'view-fleet' })
    return table.staleSince(clock.now() - hours * hourMs, { agentId, limit }).map(taskView)
  }
}
