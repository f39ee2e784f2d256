import { Problem } from '@flotilla/protocol/problem'

/** Bytes that are kept for agents at this moment: bodies of their calls, and their replies. */
export interface HeldBytes {
  /** Counts them, or throws the Problem `rate-limited` and counts nothing. */
  take(agentId: string, bytes: number): void
  giveBack(agentId: string, bytes: number): void
}

export interface HeldBounds {
  /** Of all agents at once. */
  readonly heldMaxBytes: number
  /** Of these, of one agent: nobody fills what all share. */
  readonly heldPerAgentMaxBytes: number
}

const retryAfterSeconds = 2

export function createHeldBytes(bounds: HeldBounds): HeldBytes {
  const heldOf = new Map<string, number>()
  let held = 0

  return {
    take(agentId, bytes) {
      const own = (heldOf.get(agentId) ?? 0) + bytes
      if (own > bounds.heldPerAgentMaxBytes) {
        throw full(`calls of one agent keep at most ${bounds.heldPerAgentMaxBytes} bytes at once`)
      }
      if (held + bytes > bounds.heldMaxBytes) {
        throw full(`calls of all agents keep at most ${bounds.heldMaxBytes} bytes at once`)
      }
      held += bytes
      heldOf.set(agentId, own)
    },
    giveBack(agentId, bytes) {
      held -= bytes
      const left = (heldOf.get(agentId) ?? 0) - bytes
      if (left > 0) heldOf.set(agentId, left)
      else heldOf.delete(agentId)
    },
  }
}

function full(detail: string): Problem {
  return new Problem('rate-limited', { detail, retryAfterSeconds })
}
