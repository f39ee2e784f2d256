import { Problem } from '@flotilla/protocol/problem'
import { nearestName } from '@flotilla/protocol/nearest-name'

/** How many existing ids are listed if none is similar to the unknown one. */
const listedMax = 10
/** How much of an unknown id is quoted, in characters. */
const quotedMaxChars = 80

/** Builds the problem for an unknown id: suggests the nearest existing id, or lists existing ids. Pure. */
export function noSuchAgent(agentId: string, known: readonly string[]): Problem {
  const near = nearestName(agentId, known)
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : ''
  const hint =
    near === null ? `the agents are ${known.slice(0, listedMax).join(', ')}${more}` : `did you mean ${near}?`
  return new Problem('unknown-agent', {
    detail: `there is no agent ${agentId.slice(0, quotedMaxChars)}; ${hint}`,
  })
}
