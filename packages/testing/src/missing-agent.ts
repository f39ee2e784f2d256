import { noSuchAgent } from '@flotilla/protocol/no-such-agent'

/** Throws the problem for an id that a fake registry does not know. */
export function missingAgent(agentId: string): never {
  throw noSuchAgent(agentId, [])
}
