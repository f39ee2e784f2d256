import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Placement } from '../../isolation/index.ts'

/** The isolation levels that agents request and those that are available. */
export interface AgentPlacing {
  /** The isolation that the agent requests, computed from the current settings and its permission record. */
  readonly wishOf: (agentId: string) => IsolationWish
  /** Chooses an isolation level. Problem `isolation-unavailable` if no sufficient level is available. */
  readonly place: (wish: IsolationWish) => Promise<Placement>
  /** The known reason why no agent with this wish could be started; null if none is known. */
  readonly lacking: (wish: IsolationWish) => string | null
  readonly adopted: (rung: IsolationRung) => void
  /** Reports that a start at this isolation level failed, so that the level is tested again. */
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
