import { spawnLimits } from '@flotilla/protocol/limits'
import type { SpawnedAgent } from './spawned-table.ts'

/** The part of the fleet's limit for the first spawned agent of an agent, so that a few parents cannot take all. */
const reservedPart = 0.25

/** The state on which the decision about one more agent depends. */
export interface SpawnRoom {
  readonly parentId: string
  /** The parent's row, if it was spawned itself. */
  readonly parent: Pick<SpawnedAgent, 'state' | 'depth' | 'endsAt'> | null
  /** Spawned agents of this parent, and of the fleet, including those being created or deleted. */
  readonly ofParent: number
  readonly ofFleet: number
  readonly bounds: { readonly per_parent: number; readonly fleet: number }
}

/** The depth of the new agent; 1 below an agent that people created. Pure. */
export function depthBelow(parent: SpawnRoom['parent']): number {
  return (parent?.depth ?? 0) + 1
}

/** The reason why no more agents may be created, as text, or null. Pure. */
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

/** When the agent must end: not after a parent that was spawned itself. Pure. */
export function endOfLife(
  parent: SpawnRoom['parent'],
  life: { readonly createdAt: number; readonly ttlSeconds: number },
): number {
  const own = life.createdAt + life.ttlSeconds * 1000
  return parent === null ? own : Math.min(own, parent.endsAt)
}
