import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from './fair-share.ts'

/** Bytes that are kept for agents at this moment: bodies of their calls, and their replies. */
export interface HeldBytes {
  /** Counts them, or throws the Problem `rate-limited` and counts nothing. */
  take(agentId: string, bytes: number): void
  giveBack(agentId: string, bytes: number): void
}

/** A share of bytes; see `fair-share.ts`. */
export interface HeldBounds {
  readonly heldMaxBytes: number
  readonly heldPerAgentMaxBytes: number
  readonly heldFloorBytes: number
  readonly heldReserveMaxBytes: number
}

const retryAfterSeconds = 2

export function createHeldBytes(bounds: HeldBounds): HeldBytes {
  const share = createFairShare({
    max: bounds.heldMaxBytes,
    perAgentMax: bounds.heldPerAgentMaxBytes,
    floor: bounds.heldFloorBytes,
    reserveMax: bounds.heldReserveMaxBytes,
  })
  return {
    take(agentId, bytes) {
      const full = share.take(agentId, bytes)
      if (full === null) return
      const detail =
        full === 'agent'
          ? `at most ${bounds.heldPerAgentMaxBytes} bytes at once are kept for one agent, and this one has ${share.of(agentId)} already`
          : `other agents leave this one no room for ${bytes} bytes more at this moment`
      throw new Problem('rate-limited', {
        detail: `${detail}; try again in ${retryAfterSeconds} seconds`,
        retryAfterSeconds,
      })
    },
    giveBack: share.giveBack,
  }
}
