/**
 * Conversations in which no person speaks: of a webhook's deliveries, of a watched folder, of a watch on the blackboard,
 * and of one agent with another. Nobody looks whether one has come to its end. Pure.
 */
export const unattendedSession = {
  webhook: (hookId: string) => `webhook:${hookId}`,
  folder: (watchId: string) => `watch-${watchId}`,
  blackboard: (watchId: string) => `blackboard-${watchId}`,
  agent: (agentId: string) => `agent:${agentId}`,
} as const

const beginnings = Object.values(unattendedSession).map((nameOf) => nameOf(''))

/** By its name alone, which a person may have given to one of theirs. Pure. */
export function isUnattended(session: string): boolean {
  return beginnings.some((beginning) => session.startsWith(beginning))
}
