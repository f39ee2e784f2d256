import type { EngineEvent } from './watch-ends.ts'

/**
 * If a container ends within this time after an out-of-memory kill in it, the kill explains the end. Milliseconds.
 */
const endAfterKillMaxMs = 5000
/** Above this number of containers all recorded kills are dropped; the engine's out-of-memory mark decides alone. */
const containersMax = 1000

/**
 * Decides whether a container ended because of an out-of-memory kill. The engine marks a container for good once the
 * kernel killed any of its processes for lack of memory, even if the agent ended later for another reason. So the
 * kill must shortly precede the end. If no kill event was received, the engine's mark decides.
 */
export interface MemoryEnds {
  record(event: EngineEvent): void
  /**
   * Returns whether the container's out-of-memory mark explains this end (`endedAt`: null without an end event).
   * Forgets the container.
   */
  isOf(containerId: string, endedAt: number | null): boolean
}

export function createMemoryEnds(): MemoryEnds {
  /** The time of each kill by container, in milliseconds since 1970 on the engine's clock. */
  const killedAt = new Map<string, number>()
  return {
    record: ({ action, containerId, at }) => {
      if (action !== 'oom' || at === null) return
      if (killedAt.size >= containersMax) killedAt.clear()
      killedAt.set(containerId, at)
    },
    isOf: (containerId, endedAt) => {
      const killed = killedAt.get(containerId)
      killedAt.delete(containerId)
      return killed === undefined || endedAt === null || endedAt - killed <= endAfterKillMaxMs
    },
  }
}
