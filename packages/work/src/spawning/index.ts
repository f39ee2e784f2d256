import type { PermissionStore } from '@flotilla/identity/access'
import type { Agents } from '@flotilla/fleet/agents'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '../runs/index.ts'
import type { Tasks, TaskStore } from '../tasks/index.ts'
import { spawnAgentRoutes } from './agent.routes.ts'
import { createEndSpawned, continuesAfter } from './end-spawned.ts'
import { followParent } from './follow-parent.ts'
import { createSpawnAgent } from './spawn-agent.ts'
import { createSpawnedTable } from './spawned-table.ts'
import type { WorkKernel } from '../events/index.ts'

/**
 * Creates the module for agents that agents spawn for one task, with limits on number, depth, rights, money, time.
 */
export function spawningModule(
  kernel: WorkKernel,
  needs: {
    readonly agents: Pick<Agents, 'registry' | 'admin'>
    readonly runs: Pick<Runs, 'queries' | 'lifecycle'>
    readonly store: TaskStore
    readonly tasks: Pick<Tasks, 'giveTask'>
    readonly permissions: PermissionStore
  },
): MeshModule<null> {
  const { fleetEvents, identityEvents, workEvents } = kernel
  const { store, permissions } = needs
  const agents = { ...needs.agents.registry, ...needs.agents.admin }
  const runs = { ...needs.runs.queries, ...needs.runs.lifecycle }
  const table = createSpawnedTable(kernel.database)
  const ends = createEndSpawned({ ...kernel, table, agents, runs, tasks: store })
  const spawn = createSpawnAgent({
    ...kernel,
    table,
    agents,
    runs,
    giveTask: needs.tasks.giveTask,
    permissionsOf: (agentId) => permissions.snapshot().recordOf(agentId) ?? null,
    ring: ends.ring,
  })
  identityEvents.makersOf.subscribe((agentId) => {
    const parent = table.parentOf(agentId)
    return parent === null ? [] : [parent]
  })
  workEvents.reasonsToGiveNoWork.subscribe((agentId) =>
    table.parentOf(agentId) === null
      ? []
      : [`agent ${agentId} was spawned for one task and accepts no other work`],
  )
  workEvents.runSettled.subscribe(({ id, agentId }) => {
    const row = table.parentOf(agentId) === null ? null : table.find(agentId)
    const task = row?.taskId == null ? null : store.table.find(row.taskId)
    if (row !== null && !continuesAfter(id, task))
      ends.endsNow(agentId, 'The task of the spawned agent has ended')
  })
  fleetEvents.membershipChanged.subscribe((change) => followParent({ table, agents, fleetEvents }, change))
  fleetEvents.agentDeleted.subscribe((agentId) => {
    for (const child of table.childrenOf(agentId))
      ends.endsNow(child.agentId, 'The parent of the spawned agent was deleted')
  })
  fleetEvents.agentArchived.subscribe((agentId) => {
    for (const child of table.childrenOf(agentId))
      ends.endsNow(child.agentId, 'The parent of the spawned agent was archived')
  })
  return {
    api: null,
    routes: { agent: (surface) => spawnAgentRoutes(surface, spawn) },
    metrics: () => [
      {
        name: 'flotilla_spawned_agents',
        kind: 'gauge',
        description: 'Spawned agents, by state',
        samples: (['making', 'living', 'ending'] as const).map((state) => ({
          labels: { state },
          value: table.list().filter((row) => row.state === state).length,
        })),
      },
    ],
    start: ends.takeUp,
    run: ends.run,
  }
}
