import { Problem } from '@flotilla/protocol/problem'
import type { OpenPlaces } from '@flotilla/foundation/intake'

/** When an agent with too many wallet calls in progress may retry, in seconds. */
const retryAfterSeconds = 2

/**
 * Takes one of the places for concurrent calls for an agent and returns the function that releases
 * it. `what` is used in the error text. Problem `rate-limited` if all places are taken.
 */
export function enterPlaces(places: OpenPlaces, agentId: string, what: string): () => void {
  const leave = places.enter(agentId)
  if (typeof leave !== 'string') return leave
  throw new Problem('rate-limited', {
    detail:
      leave === 'agent'
        ? `the maximum for one agent is reached: too many ${what} at once`
        : `the maximum for the fleet is reached: too many ${what} at once`,
    retryAfterSeconds,
  })
}
