import { Problem } from '@flotilla/protocol/problem'
import type { OpenPlaces } from '../intake/index.ts'

const retryAfterSeconds = 2

/**
 * Takes a place for an agent and returns the function that releases it; `what` is shown in a refusal. Problem
 * `rate-limited` if all places are taken.
 */
export function enterPlaces(places: OpenPlaces, agentId: string, what: string): () => void {
  const leave = places.enter(agentId)
  if (typeof leave !== 'string') return leave
  throw new Problem('rate-limited', {
    detail:
      leave === 'agent'
        ? `as many ${what} for this agent as one agent may have at once`
        : `so many ${what} for other agents that there is no room for more of this one`,
    retryAfterSeconds,
  })
}
