import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Placement } from '../../isolation/index.ts'

/** The isolation levels that agents request and those that are available. */
export interface AgentPlacing {
  /** Returns the isolation that the agent requests, from the current settings and the agent's permission record. */
  readonly wishOf: (agentId: string) => IsolationWish
  /** Chooses an isolation level. Problem `isolation-unavailable` if no sufficient level is available. */
  readonly place: (wish: IsolationWish) => Promise<Placement>
  /** Returns the known reason why no agent with this wish could be started; null if none is known. */
  readonly lacking: (wish: IsolationWish) => string | null
  readonly adopted: (rung: IsolationRung) => void
  /** Reports that a start at this isolation level failed, so that the level is tested again. */
  readonly doubt: (rung: IsolationRung) => void
}

export interface Placed extends Placement {
  readonly wish: IsolationWish
}

/**
 * Returns true if the requested isolation changed since the agent's start. A fallback is no reason to restart it.
 * Pure.
 */
export function isMisplaced(placed: Placed | undefined, { wanted, floor }: IsolationWish): boolean {
  return placed !== undefined && (placed.wish.wanted !== wanted || placed.wish.floor !== floor)
}
