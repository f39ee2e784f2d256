import type { RungView } from '@flotilla/protocol/isolation'
import type { IsolationState } from './watch-isolation.ts'

/** The last verdict in the words of the wire. Pure. */
export function isolationView({ checkedAt, checks }: IsolationState, rungs: readonly RungView[]) {
  return { checked_at: checkedAt, walls: checks, rungs }
}
