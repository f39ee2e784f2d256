import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Placement } from '../../isolation/index.ts'

/** The isolation levels that agents request and those that are available. */
export interface AgentPlacing {
  /** Computed from the current settings and record. */
  readonly wishOf: (agentId: string) => IsolationWish
  /** Problem `isolation-unavailable`. */
  readonly place: (wish: IsolationWish) => Promise<Placement>
  /** The reason why it could not be started, as far as it is known; null if it could. */
  readonly lacking: (wish: IsolationWish) => string | null
  readonly adopted: (rung: IsolationRung) => void
  /** A start on it failed. */
  readonly doubt: (rung: IsolationRung) => void
}

export interface Placed extends Placement {
  readonly wish: IsolationWish
}

/**
 * True if the requested isolation changed since the agent was started. A fallback alone is no reason to restart it.
 * Pure.
 */
export function isMisplaced(placed: Placed | undefined, { wanted, floor }: IsolationWish): boolean {
  return placed !== undefined && (placed.wish.wanted !== wanted || placed.wish.floor !== floor)
}
