import { spawnLimits } from '@flotilla/protocol/limits'
import type { SpawnedAgent } from './spawned-table.ts'

/** How things stand at the moment at which one more is asked for. */
export interface SpawnRoom {
  readonly parentId: string
  /** The parent's own row where it was made by an agent itself. */
  readonly parent: Pick<SpawnedAgent, 'state' | 'depth' | 'endsAt'> | null
  /** Of this parent, and of all, with those that are being made and those that are not gone yet. */
  readonly ofParent: number
  readonly ofFleet: number
  readonly bounds: { readonly per_parent: number; readonly fleet: number }
}

/** How deep the one that is asked for would stand; 1 below an agent that people made. Pure. */
export function depthBelow(parent: SpawnRoom['parent']): number {
  return (parent?.depth ?? 0) + 1
}

/** Why there is no room for one more, in words, or null. Pure. */
export function whyBusy({ parentId, parent, ofParent, ofFleet, bounds }: SpawnRoom): string | null {
  if (parent !== null && parent.state !== 'living') return `${parentId} is ending itself`
  if (depthBelow(parent) > spawnLimits.depthMax) return `agents are made ${spawnLimits.depthMax} deep at most`
  if (ofParent >= bounds.per_parent) {
    return `${parentId} has ${bounds.per_parent} agents made for it already, which is all that it may at once`
  }
  if (ofFleet >= bounds.fleet) {
    return `the fleet has ${bounds.fleet} such agents already, which is all that there may be at once`
  }
  return null
}

/** When its life is over: none outlives a parent that was spawned itself. Pure. */
export function endOfLife(
  parent: SpawnRoom['parent'],
  life: { readonly createdAt: number; readonly ttlSeconds: number },
): number {
  const own = life.createdAt + life.ttlSeconds * 1000
  return parent === null ? own : Math.min(own, parent.endsAt)
}
