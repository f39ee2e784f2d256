import type { EngineEvent } from './watch-ends.ts'

/**
 * The maximum time between an out-of-memory kill of a container's own process and the report of the
 * container's end.
 */
const endAfterKillMaxMs = 5000
/** Above this number of containers all records are dropped, and the engine's mark is used as it is. */
const containersMax = 1000

/**
 * Decides whether a container ended because of an out-of-memory kill. An engine marks a container in which
 * the kernel killed any process for lack of memory, and the mark stays. An agent whose program was killed,
 * and that ended for another reason later, bears it too. Without a received event the engine's mark is used
 * as it is.
 */
export interface MemoryEnds {
  hear(event: EngineEvent): void
  /**
   * Whether the mark belongs to this end; `endedAt` is null if no end event was received. Forgets the
   * container.
   */
  isOf(containerId: string, endedAt: number | null): boolean
}

export function createMemoryEnds(): MemoryEnds {
  /** The time of each kill by container, in milliseconds since 1970 on the engine's clock. */
  const killedAt = new Map<string, number>()
  return {
    hear: ({ action, containerId, at }) => {
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
