/** Bounds of what agents have at once of one thing, in its own unit (bytes, calls). */
export interface ShareBounds {
  /** Of all agents together. */
  readonly max: number
  /** Of these, of one agent; and above its floor never more than half of what the others leave it. */
  readonly perAgentMax: number
  /** What an agent has room for though others have filled the rest, and what is set apart of all for these. */
  readonly floor: number
  readonly reserveMax: number
}

/** Why there is no room: the agent has all that one may have, or others leave it no more at this moment. */
export type ShareFull = 'agent' | 'others'

export interface FairShare {
  /** Null where it is counted; else nothing is, and why. */
  take(agentId: string, amount: number): ShareFull | null
  giveBack(agentId: string, amount: number): void
  /** What the agent has now. */
  of(agentId: string): number
}

/** Bounds of rows that agents share in one table. */
export interface RowBounds {
  readonly max: number
  readonly perAgentMax: number
  /** What an agent has room for though others have filled the table. */
  readonly floor: number
}

/** Whether a table has room for one more row of an agent that has `own` of its `total` rows. Pure. */
export function hasRoom(rows: { readonly own: number; readonly total: number }, bounds: RowBounds): boolean {
  return rows.own < bounds.floor || (rows.own < bounds.perAgentMax && rows.total < bounds.max)
}

interface Taken {
  fromReserve: number
  fromRest: number
}

/**
 * The one rule for what agents share: however many of them take what they can, there is some left for the next, since
 * each has at most half of what is free, and its floor besides.
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
