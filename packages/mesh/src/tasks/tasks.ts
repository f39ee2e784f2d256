import type { Kernel } from '../kernel/index.ts'
import type { Ledger } from '../runs/index.ts'
import { createCompleteTask } from './complete-task.ts'
import { createHandOff } from './hand-off.ts'
import { createListInbox, createListStaleTasks, createListTasks } from './list-tasks.ts'
import type { TaskStore } from './task-store.ts'

export type Tasks = ReturnType<typeof createTasks>

/** What tasks ask of runs. */
export type TaskRuns = Pick<Ledger, 'submitRun' | 'live' | 'chainOf' | 'tellRun'>

export function createTasks(deps: Kernel & TaskStore & { readonly ledger: TaskRuns }) {
  return {
    handOff: createHandOff(deps),
    completeTask: createCompleteTask(deps),
    listInbox: createListInbox(deps),
    listTasks: createListTasks(deps),
    listStaleTasks: createListStaleTasks(deps),
  }
}
