import { Problem } from '@flotilla/protocol/problem'
import { channelLimits } from '../channel-limits.ts'

export interface LaneShares {
  /** Runs that have not ended: of this person at the agent, of all at the agent, of all at all agents. */
  readonly ofPerson: number
  readonly ofAgent: number
  readonly ofAll: number
  /** People beside this one who wait for the agent. */
  readonly others: number
}

/** Throws the Problem `lane-full` where the person has more waiting at the agent than their part; they read what it says. */
export function requireRoom(
  places: { readonly shares: (agentId: string, person: string) => LaneShares },
  { agentId, person }: { readonly agentId: string; readonly person: string },
): void {
  const why = whyBusy(places.shares(agentId, person))
  if (why !== null) throw new Problem('lane-full', { detail: `${agentId} takes no more now: ${why}` })
}

/**
 * Why one more run of a person finds no room, in words, or null. The more people wait for an agent, the less of its lane
 * each may take; whoever has nothing there finds room as long as there is any. Pure.
 */
export function whyBusy({ ofPerson, ofAgent, ofAll, others }: LaneShares): string | null {
  const { openRunsPerPersonMax, openRunsPerAgentMax, openRunsMax } = channelLimits
  const share = Math.min(openRunsPerPersonMax, Math.max(1, Math.floor(openRunsPerAgentMax / (others + 1))))
  if (ofPerson >= share) {
    return `it has ${ofPerson} message${ofPerson === 1 ? '' : 's'} of yours that ${ofPerson === 1 ? 'is' : 'are'} not answered yet${others > 0 ? `, and ${others} other people wait` : ''}; say it again once one is, or add to what it does with /steer`
  }
  if (ofAgent >= openRunsPerAgentMax) return 'too many people wait for it at the moment; try again in a while'
  if (ofAll >= openRunsMax) return 'the fleet has all it can do at the moment; try again in a while'
  return null
}
