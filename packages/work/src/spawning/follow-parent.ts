import type { AgentRegistry } from '@flotilla/fleet/agents'
import type { FleetEvents } from '@flotilla/fleet/events'
import type { SpawnedTable } from './spawned-table.ts'

/**
 * Moves spawned agents to the project of their parent. The row of a child may not exist yet or no longer; that does
 * not block the parent.
 */
export function followParent(
  {
    table,
    agents,
    fleetEvents,
  }: {
    readonly table: Pick<SpawnedTable, 'childrenOf'>
    readonly agents: Pick<AgentRegistry, 'find' | 'setProject'>
    readonly fleetEvents: Pick<FleetEvents, 'membershipChanged'>
  },
  { agentId, project }: { readonly agentId: string; readonly project: string | null },
): void {
  for (const child of table.childrenOf(agentId)) {
    if (agents.find(child.agentId) === null) continue
    agents.setProject(child.agentId, project)
    // Publishing the change for each child also moves the child's own children.
    fleetEvents.membershipChanged.publish({ agentId: child.agentId, project })
  }
}
