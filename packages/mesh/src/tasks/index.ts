import type { Kernel, MeshModule } from '../kernel/index.ts'
import { taskAgentRoutes } from './agent.routes.ts'
import { taskOperatorRoutes } from './operator.routes.ts'
import { taskPeopleRoutes } from './people.routes.ts'
import type { TaskStore } from './task-store.ts'
import { createTasks } from './tasks.ts'
import type { TaskRuns, Tasks } from './tasks.ts'

export { createTaskStore } from './task-store.ts'
export type { TaskTable } from './task-table.ts'
export type { Tasks } from './tasks.ts'

/** Hand-offs among agents; each ends in a run. `store` is the one that the ledger was given. */
export function tasksModule(
  kernel: Kernel,
  { store, runs }: { readonly store: TaskStore; readonly runs: TaskRuns },
): MeshModule<Tasks> {
  const tasks = createTasks({ ...kernel, ...store, ledger: runs })
  return {
    api: tasks,
    routes: {
      people: (surface) => taskPeopleRoutes(surface, tasks),
      agent: (surface) => taskAgentRoutes(surface, tasks),
      operatorOrInternal: (surface) => taskOperatorRoutes(surface, tasks),
    },
  }
}
