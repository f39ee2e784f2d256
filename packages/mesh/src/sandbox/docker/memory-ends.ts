import type { EngineEvent } from './watch-ends.ts'

/** A container whose own process the kernel killed for want of memory is told as ended within this. */
const endAfterKillMaxMs = 5000
/** Beyond it all are forgotten, and the engine is believed. */
const containersMax = 1000

/**
 * Tells an end for want of memory from one that came later. An engine marks a container in which the kernel killed any
 * process for want of memory, and the mark stays: an agent whose program was killed, and that ended for another reason
 * afterwards, bears it too. What was killed while nobody listened is believed as the engine has it.
 */
export interface MemoryEnds {
  hear(event: EngineEvent): void
  /** Whether the mark is about this end; `endedAt` is null where the end was not heard. Forgets the container. */
  isOf(containerId: string, endedAt: number | null): boolean
}

export function createMemoryEnds(): MemoryEnds {
  /** Milliseconds since 1970, by the engine's clock, by container. */
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
