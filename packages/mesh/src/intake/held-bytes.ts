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
      const [whose, most] =
        full === 'agent' ? ['one agent', bounds.heldPerAgentMaxBytes] : ['all agents', bounds.heldMaxBytes]
      throw new Problem('rate-limited', {
        detail: `calls of ${whose} keep at most ${most} bytes at once`,
        retryAfterSeconds,
      })
    },
    giveBack: share.giveBack,
  }
}
