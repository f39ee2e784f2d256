import type { Agents } from '../agents/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import type { Runs } from '../runs/index.ts'
import { taskAgentRoutes } from './agent.routes.ts'
import { taskOperatorRoutes } from './operator.routes.ts'
import { taskPeopleRoutes } from './people.routes.ts'
import type { TaskStore } from './task-store.ts'
import { createTasks } from './tasks.ts'
import type { Tasks } from './tasks.ts'

export { createTaskStore } from './task-store.ts'
export type { TaskStore } from './task-store.ts'
export type { TaskRecord, TaskTable } from './task-table.ts'
export type { Tasks } from './tasks.ts'

/** A lane gets room when its next run begins; what waits for that is looked at so often, milliseconds. */
const releaseIntervalMs = 5000

interface Needs {
  /** The one that the ledger was given. */
  readonly store: TaskStore
  readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'delivery'>
  readonly agents: Pick<Agents, 'registry' | 'briefing'>
  readonly isolation: { state(): { readonly broken: string | null } }
}

/** Work among agents: given, worked on, given anew, judged. Each piece becomes work by a run. */
export function tasksModule(kernel: Kernel, { store, runs, agents, isolation }: Needs): MeshModule<Tasks> {
  const { registry, briefing } = agents
  const tasks = createTasks({
    ...kernel,
    ...store,
    ledger: { ...runs.queue, ...runs.queries, ...runs.lifecycle, ...runs.delivery },
    projectOf: (agentId) => registry.find(agentId)?.project ?? null,
    requireAgent: registry.requireWorking,
    unreachable: (agentId) => {
      const { broken } = isolation.state()
      if (broken !== null) return `no agent is started at the moment: ${broken}`
      const failure = registry.failureOf(agentId)
      return failure === null
        ? null
        : `${agentId} does not work now (${failure}) and is started again by itself`
    },
    feedbackGiven: (agentId) => {
      briefing.refreshBriefings().catch((error: unknown) => {
        kernel.log.error(
          { agentId, err: error },
          'the briefing was not refreshed; the agent learns how its work was received with the next one',
        )
      })
    },
  })
  return {
    api: tasks,
    routes: {
      people: (surface) => taskPeopleRoutes(surface, tasks),
      agent: (surface) => taskAgentRoutes(surface, tasks),
      operatorOrInternal: (surface) => taskOperatorRoutes(surface, tasks),
    },
    begin: tasks.sweep,
    run: async (signal) => {
      while (!signal.aborted) {
        await kernel.clock.sleep(releaseIntervalMs, signal).catch(() => {})
        if (!signal.aborted) tasks.release()
      }
    },
    maintain: tasks.sweep,
  }
}
