import type { Agents } from '@flotilla/fleet/agents'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '../runs/index.ts'
import { taskAgentRoutes } from './agent.routes.ts'
import { taskOperatorRoutes } from './operator.routes.ts'
import { taskPeopleRoutes } from './people.routes.ts'
import type { TaskStore } from './task-store.ts'
import { createTasks } from './tasks.ts'
import type { Tasks } from './tasks.ts'
import type { WorkKernel } from '../events/index.ts'

export { createTaskStore } from './task-store.ts'
export type { TaskStore } from './task-store.ts'
export type { TaskRecord, TaskTable } from './task-table.ts'
export type { Tasks } from './tasks.ts'

/** How often tasks that wait for a full lane are checked, milliseconds. A lane gets space when a run of it starts. */
const releaseIntervalMs = 5000

interface Needs {
  /** The stored tasks, which the run ledger uses too. */
  readonly store: TaskStore
  readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'delivery'>
  readonly agents: Pick<Agents, 'registry' | 'briefing'>
  readonly isolation: { state(): { readonly broken: string | null } }
}

/** Creates the module for work between agents: tasks are handed off, carried out by runs, repeated and reviewed. */
export function tasksModule(
  kernel: WorkKernel,
  { store, runs, agents, isolation }: Needs,
): MeshModule<Tasks> {
  const { registry, briefing } = agents
  const tasks = createTasks({
    ...kernel,
    ...store,
    ledger: { ...runs.queue, ...runs.queries, ...runs.lifecycle, ...runs.delivery },
    projectOf: (agentId) => registry.find(agentId)?.project ?? null,
    requireAgent: registry.requireWorking,
    unreachable: (agentId) => {
      const { broken } = isolation.state()
      if (broken !== null) return `no agent can be started at present: ${broken}`
      const failure = registry.failureOf(agentId)
      return failure === null ? null : `${agentId} has failed (${failure}) and restarts automatically`
    },
    feedbackGiven: (agentId) => {
      briefing.refreshBriefings().catch((error: unknown) => {
        kernel.log.error(
          { agentId, err: error },
          'failed to refresh bootstrap files; the agent reads the review of its work with the next refresh',
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
