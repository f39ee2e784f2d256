import { spawnLimits } from '@flotilla/protocol/limits'
import type { SpawnedAgent } from './spawned-table.ts'

/** Part of the fleet's limit for agents without parent and children, so that a few parents cannot use all of it. */
const reservedPart = 0.25

/** What decides whether one more agent may be spawned. */
export interface SpawnRoom {
  readonly parentId: string
  /** The parent's row; null if the parent was not spawned itself. */
  readonly parent: Pick<SpawnedAgent, 'state' | 'depth' | 'endsAt'> | null
  /** Number of spawned agents of this parent, and of the fleet, including those being created or deleted. */
  readonly ofParent: number
  readonly ofFleet: number
  readonly bounds: { readonly per_parent: number; readonly fleet: number }
}

/** Returns the depth of the new agent; 1 below an agent that people created. Pure. */
export function depthBelow(parent: SpawnRoom['parent']): number {
  return (parent?.depth ?? 0) + 1
}

/** Returns why no more agents may be spawned, as text; null if they may. Pure. */
export function whyBusy({ parentId, parent, ofParent, ofFleet, bounds }: SpawnRoom): string | null {
  if (parent !== null && parent.state !== 'living') return `${parentId} is being created or ended`
  if (depthBelow(parent) > spawnLimits.depthMax)
    return `spawned agents may be nested at most ${spawnLimits.depthMax} deep`
  if (ofParent >= bounds.per_parent) {
    return `${parentId} already has ${bounds.per_parent} spawned agents, the most for one agent`
  }
  if (ofFleet >= bounds.fleet) {
    return `the fleet already has ${bounds.fleet} spawned agents, the most for the fleet`
  }
  const othersMax = bounds.fleet - Math.floor(bounds.fleet * reservedPart)
  if ((parent !== null || ofParent > 0) && ofFleet >= othersMax) {
    return `the fleet already has ${ofFleet} spawned agents, and the last ${bounds.fleet - othersMax} of ${bounds.fleet} are reserved for agents that have spawned none`
  }
  return null
}

/** Returns when the agent must end: at the latest with its parent, if the parent was spawned. Pure. */
export function endOfLife(
  parent: SpawnRoom['parent'],
  life: { readonly createdAt: number; readonly ttlSeconds: number },
): number {
  const own = life.createdAt + life.ttlSeconds * 1000
  return parent === null ? own : Math.min(own, parent.endsAt)
}
