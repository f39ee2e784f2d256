import { hintOfName } from './nearest-name.ts'
import { Problem } from './problem.ts'

/** How much of an unknown id is quoted, in characters. */
const quotedMaxChars = 80

/** Describes an unknown id: suggests the nearest existing id, or lists existing ids. Pure. */
export function describeMissingAgent(agentId: string, known: readonly string[]): string {
  return `there is no agent ${agentId.slice(0, quotedMaxChars)}; ${hintOfName(agentId, known, 'the agents are')}`
}

/** Builds the problem for an unknown id of an agent. Pure. */
export function noSuchAgent(agentId: string, known: readonly string[]): Problem {
  return new Problem('unknown-agent', { detail: describeMissingAgent(agentId, known) })
}
