/**
 * Conversations without a person: of a webhook's deliveries, of a watched folder, of a watch on the blackboard, and
 * between agents. No person checks whether one has ended. Pure.
 */
export const unattendedSession = {
  webhook: (hookId: string) => `webhook:${hookId}`,
  folder: (watchId: string) => `watch-${watchId}`,
  blackboard: (watchId: string) => `blackboard-${watchId}`,
  agent: (agentId: string) => `agent:${agentId}`,
} as const

const beginnings = Object.values(unattendedSession).map((nameOf) => nameOf(''))

/** Decided by the name alone, which a person may also have chosen. Pure. */
export function isUnattended(session: string): boolean {
  return beginnings.some((beginning) => session.startsWith(beginning))
}
