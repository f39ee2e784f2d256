import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { PauseView } from '@flotilla/protocol/pause-api'

/**
 * Returns why no pause of the agent itself can be ended; null if one can. A pause of the fleet, or of the agent that
 * made this one, ends only there. Pure.
 */
export function whyNotResumed(
  { id, paused }: Pick<AgentView, 'id' | 'paused'>,
  pauses: readonly Pick<PauseView, 'agent_id'>[],
): string | null {
  if (pauses.some(({ agent_id: agent }) => agent === id)) return null
  if (paused === null) return 'It is not paused.'
  return pauses.some(({ agent_id: agent }) => agent === null)
    ? 'The whole fleet is paused; Resume triggers ends that.'
    : 'It is paused with the agent that made it; resume that one.'
}
