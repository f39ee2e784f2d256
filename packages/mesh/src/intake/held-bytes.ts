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
  /** Of these, of one agent; and above its floor never more than half of what the others leave it. */
  readonly heldPerAgentMaxBytes: number
  /** What an agent has room for though others have filled the rest, and what is set apart of all for these. */
  readonly heldFloorBytes: number
  readonly heldReserveMaxBytes: number
}

interface Held {
  fromReserve: number
  fromRest: number
}

const retryAfterSeconds = 2

/** However many agents take what they can, there is some left for the next: each has at most half of what is free. */
export function createHeldBytes(bounds: HeldBounds): HeldBytes {
  const heldOf = new Map<string, Held>()
  const restMaxBytes = bounds.heldMaxBytes - bounds.heldReserveMaxBytes
  let reserved = 0
  let rest = 0

  return {
    take(agentId, bytes) {
      const own = heldOf.get(agentId) ?? { fromReserve: 0, fromRest: 0 }
      if (own.fromReserve + own.fromRest + bytes > bounds.heldPerAgentMaxBytes) {
        throw full(`calls of one agent keep at most ${bounds.heldPerAgentMaxBytes} bytes at once`)
      }
      const floorLeft = bounds.heldFloorBytes - own.fromReserve
      const fromReserve = Math.min(bytes, floorLeft, bounds.heldReserveMaxBytes - reserved)
      const fromRest = own.fromRest + bytes - fromReserve
      if (fromRest > own.fromRest && fromRest > (restMaxBytes - rest + own.fromRest) / 2) {
        throw full(`calls of all agents keep at most ${bounds.heldMaxBytes} bytes at once`)
      }
      reserved += fromReserve
      rest += fromRest - own.fromRest
      heldOf.set(agentId, { fromReserve: own.fromReserve + fromReserve, fromRest })
    },
    giveBack(agentId, bytes) {
      const own = heldOf.get(agentId)
      if (own === undefined) return
      const toRest = Math.min(bytes, own.fromRest)
      const toReserve = Math.min(bytes - toRest, own.fromReserve)
      rest -= toRest
      reserved -= toReserve
      own.fromRest -= toRest
      own.fromReserve -= toReserve
      if (own.fromRest + own.fromReserve === 0) heldOf.delete(agentId)
    },
  }
}

function full(detail: string): Problem {
  return new Problem('rate-limited', { detail, retryAfterSeconds })
}
