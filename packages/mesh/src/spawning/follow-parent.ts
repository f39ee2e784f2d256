import type { AgentRegistry } from '../agents/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { SpawnedTable } from './spawned-table.ts'

/**
 * Agents that were made for another belong to its project. One that is still being made is put there with its row, and
 * of one that ends the row may be gone: neither holds up its parent.
 */
export function followParent(
  {
    table,
    agents,
    hooks,
  }: {
    readonly table: Pick<SpawnedTable, 'childrenOf'>
    readonly agents: Pick<AgentRegistry, 'find' | 'setProject'>
    readonly hooks: Pick<Hooks, 'membershipChanged'>
  },
  { agentId, project }: { readonly agentId: string; readonly project: string | null },
): void {
  for (const child of table.childrenOf(agentId)) {
    if (agents.find(child.agentId) === null) continue
    agents.setProject(child.agentId, project)
    // Told again of each child, it goes down to theirs.
    hooks.membershipChanged.tell({ agentId: child.agentId, project })
  }
}
