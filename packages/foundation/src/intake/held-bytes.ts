import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from './fair-share.ts'

/** Bytes held in memory for agents: bodies of their calls, and their replies. */
export interface HeldBytes {
  /** Counts the bytes, or throws the problem `rate-limited` and counts nothing. */
  take(agentId: string, bytes: number): void
  giveBack(agentId: string, bytes: number): void
}

/** When an agent whose request found no buffer memory may retry, in seconds. */
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
          ? `the mesh holds ${share.of(agentId)} bytes of requests of this agent, and the maximum for one agent is ${bounds.perAgentMax}`
          : `the mesh holds the maximum of request bytes for all agents and cannot take ${bytes} more now`
      throw new Problem('rate-limited', {
        detail: `${detail}; try again in ${retryAfterSeconds} seconds`,
        retryAfterSeconds,
      })
    },
    giveBack: share.giveBack,
  }
}
