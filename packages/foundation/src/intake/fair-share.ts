/** Limits for one resource that agents hold at the same time, in its own unit (bytes, calls). */
export interface ShareBounds {
  /** The total for all agents. */
  readonly max: number
  /** The maximum for one agent. Above its floor, an agent also gets at most half of what is free. */
  readonly perAgentMax: number
  /** What an agent gets even if others have used up the rest, and the part of the total reserved for that. */
  readonly floor: number
  readonly reserveMax: number
}

/** Why there is no room: the agent is at its own maximum, or other agents use the rest now. */
export type ShareFull = 'agent' | 'others'

export interface FairShare {
  /** Counts the amount and returns null, or counts nothing and returns the reason. */
  take(agentId: string, amount: number): ShareFull | null
  giveBack(agentId: string, amount: number): void
  /** What the agent holds now. */
  of(agentId: string): number
}

/** Limits for rows of agents in one table, or for bytes in them. */
export interface RowBounds {
  readonly max: number
  readonly perAgentMax: number
  /** How many rows an agent gets even if others have filled the table. */
  readonly floor: number
}

/**
 * True if the table has room for one more row, or for more bytes, of an agent that has `own` of its `total`. Pure.
 */
export function hasRoom(
  has: { readonly own: number; readonly total: number },
  bounds: RowBounds,
  more = 1,
): boolean {
  const own = has.own + more
  return own <= bounds.floor || (own <= bounds.perAgentMax && has.total + more <= bounds.max)
}

interface Taken {
  fromReserve: number
  fromRest: number
}

/**
 * The rule for everything that agents share: each gets at most half of what is free, plus its floor, so that some is
 * always left for the next agent.
 */
export function createFairShare(bounds: ShareBounds): FairShare {
  const takenBy = new Map<string, Taken>()
  const restMax = bounds.max - bounds.reserveMax
  let reserved = 0
  let rest = 0

  return {
    of(agentId) {
      const own = takenBy.get(agentId)
      return own === undefined ? 0 : own.fromReserve + own.fromRest
    },
    take(agentId, amount) {
      const own = takenBy.get(agentId) ?? { fromReserve: 0, fromRest: 0 }
      if (own.fromReserve + own.fromRest + amount > bounds.perAgentMax) return 'agent'
      const floorLeft = bounds.floor - own.fromReserve
      const fromReserve = Math.min(amount, floorLeft, bounds.reserveMax - reserved)
      const fromRest = own.fromRest + amount - fromReserve
      if (fromRest > own.fromRest && fromRest > (restMax - rest + own.fromRest) / 2) return 'others'
      reserved += fromReserve
      rest += fromRest - own.fromRest
      takenBy.set(agentId, { fromReserve: own.fromReserve + fromReserve, fromRest })
      return null
    },
    giveBack(agentId, amount) {
      const own = takenBy.get(agentId)
      if (own === undefined) return
      const toRest = Math.min(amount, own.fromRest)
      const toReserve = Math.min(amount - toRest, own.fromReserve)
      rest -= toRest
      reserved -= toReserve
      own.fromRest -= toRest
      own.fromReserve -= toReserve
      if (own.fromRest + own.fromReserve === 0) takenBy.delete(agentId)
    },
  }
}
