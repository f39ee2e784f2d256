import { Problem } from '@flotilla/protocol/problem'
import { nearestName } from '@flotilla/protocol/nearest-name'

/** Agents that are listed where no name is near. */
const listedMax = 10
/** Of an id that somebody made up, in characters. */
const quotedMaxChars = 80

/** For whoever may see the fleet: names what was most likely meant, or what there is. Pure. */
export function noSuchAgent(agentId: string, known: readonly string[]): Problem {
  const near = nearestName(agentId, known)
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : ''
  const hint =
    near === null ? `there are ${known.slice(0, listedMax).join(', ')}${more}` : `did you mean ${near}?`
  return new Problem('unknown-agent', {
    detail: `there is no agent ${agentId.slice(0, quotedMaxChars)}; ${hint}`,
  })
}
