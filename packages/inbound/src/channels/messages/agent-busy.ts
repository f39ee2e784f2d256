import { Problem } from '@flotilla/protocol/problem'
import { channelLimits } from '../channel-limits.ts'

export interface LaneShares {
  /** Unfinished runs: of this person at the agent, of all people at the agent, and of all people at all agents. */
  readonly ofPerson: number
  readonly ofAgent: number
  readonly ofAll: number
  /** The number of other people with unfinished runs at the agent. */
  readonly others: number
}

/**
 * Throws the Problem `lane-full` if the person already uses their share of the agent's lane. The
 * detail is text for the person.
 */
export function requireRoom(
  places: { readonly shares: (agentId: string, person: string) => LaneShares },
  { agentId, person }: { readonly agentId: string; readonly person: string },
): void {
  const why = whyBusy(places.shares(agentId, person))
  if (why !== null)
    throw new Problem('lane-full', { detail: `${agentId} accepts no more messages now: ${why}` })
}

/**
 * Returns why another run of a person is rejected, or null. The more people use an agent, the
 * smaller is each person's share. A person without runs is accepted while the lane has space. Pure.
 */
export function whyBusy({ ofPerson, ofAgent, ofAll, others }: LaneShares): string | null {
  const { openRunsPerPersonMax, openRunsPerAgentMax, openRunsMax } = channelLimits
  const share = Math.min(openRunsPerPersonMax, Math.max(1, Math.floor(openRunsPerAgentMax / (others + 1))))
  if (ofPerson >= share) {
    return `the agent has ${ofPerson} message${ofPerson === 1 ? '' : 's'} of yours that ${ofPerson === 1 ? 'is' : 'are'} not answered yet${others > 0 ? `, and ${others} other people wait` : ''}; send your message again after the next answer, or add it to the current run of the agent with /steer`
  }
  if (ofAgent >= openRunsPerAgentMax) return 'too many people are waiting for the agent; try again later'
  if (ofAll >= openRunsMax) return 'the fleet is fully occupied; try again later'
  return null
}
