import { Problem } from '@flotilla/protocol/problem'
import type { TaskView } from '@flotilla/protocol/task'
import type { Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import { taskView } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

/** Tasks of each list, newest first. */
const listMax = 50

interface Deps {
  readonly table: TaskTable
  readonly guard: Guard
}

/** Open tasks of the calling agent, and what became of those it gave. Problem `denied`. */
export function createListInbox({ table, guard }: Deps) {
  return (
    caller: Caller,
  ): { readonly assigned: readonly TaskView[]; readonly given: readonly TaskView[] } => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    return {
      assigned: table.openOf(caller.agentId, listMax).map(taskView),
      given: table.givenBy(caller.agentId, listMax).map(taskView),
    }
  }
}

/** All tasks for people, newest first. Problem `denied`. */
export function createListTasks({ table, guard }: Deps) {
  return (
    caller: Caller,
    page: { readonly agentId?: string; readonly limit: number },
  ): readonly TaskView[] => {
    guard(caller, { do: 'view-fleet' })
    return table.list(page).map(taskView)
  }
}
