import type { RungView } from '@flotilla/protocol/isolation'
import type { IsolationState } from './watch-isolation.ts'

/** Converts the last result of the isolation checks to the format of the API. Pure. */
export function isolationView({ checkedAt, checks }: IsolationState, rungs: readonly RungView[]) {
  return { checked_at: checkedAt, walls: checks, rungs }
}
