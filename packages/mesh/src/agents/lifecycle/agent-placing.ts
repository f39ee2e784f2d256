import type { IsolationRung, IsolationWish } from '@flotilla/protocol/isolation'
import type { Placement } from '../../isolation/index.ts'

/** What agents run behind, and where they can. */
export interface AgentPlacing {
  /** Computed from the current settings and record. */
  readonly wishOf: (agentId: string) => IsolationWish
  /** Problem `isolation-unavailable`. */
  readonly place: (wish: IsolationWish) => Promise<Placement>
  /** Why it would not be started, as far as is known; null where it would. */
  readonly lacking: (wish: IsolationWish) => string | null
  readonly adopted: (rung: IsolationRung) => void
  /** A start on it failed. */
  readonly doubt: (rung: IsolationRung) => void
}

export interface Placed extends Placement {
  readonly wish: IsolationWish
}

/** Something else is wished of it than when it was started; that it fell back is no reason to start it again. Pure. */
export function isMisplaced(placed: Placed | undefined, { wanted, floor }: IsolationWish): boolean {
  return placed !== undefined && (placed.wish.wanted !== wanted || placed.wish.floor !== floor)
}
