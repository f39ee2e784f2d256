import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from './fair-share.ts'

/** Bytes held in memory for agents: bodies of their calls, and their replies. */
export interface HeldBytes {
  /** Counts the bytes, or throws the problem `rate-limited` and counts nothing. */
  take(agentId: string, bytes: number): void
  giveBack(agentId: string, bytes: number): void
}

const retryAfterSeconds = 2

/** The limits are in bytes. */
export function createHeldBytes(bounds: Parameters<typeof createFairShare>[0]): HeldBytes {
  const share = createFairShare(bounds)
  return {
    take(agentId, bytes) {
      const full = share.take(agentId, bytes)
      if (full === null) return
      const detail =
        full === 'agent'
          ? `at most ${bounds.perAgentMax} bytes at once are kept for one agent, and this one has ${share.of(agentId)} already`
          : `other agents leave this one no room for ${bytes} bytes more at this moment`
      throw new Problem('rate-limited', {
        detail: `${detail}; try again in ${retryAfterSeconds} seconds`,
        retryAfterSeconds,
      })
    },
    giveBack: share.giveBack,
  }
}
