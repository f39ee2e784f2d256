/**
 * The lifecycle state of an agent, as all clients see it. The mesh changes it by one table
 * (`mesh/src/agents/lifecycle/agent-state.ts`).
 */
export const agentStates = [
  /** Its row is there; it has never been started. */
  'created',
  'starting',
  'running',
  /** It runs, and left one or two questions for its health unanswered. */
  'unhealthy',
  'stopping',
  /** A person stopped it, or its mesh stopped; the next work starts it. */
  'stopped',
  /** Nothing was asked of it for a while; the next work wakes it. */
  'hibernated',
  /** It ended, hung or could not be started, and is started again after a pause, or at once by work. */
  'restarting',
  /** It was restarted too often; it is retried once in a while, or when a person starts it. */
  'quarantined',
  /** Put away: nothing starts it and it is given no work. */
  'archived',
  /** What it had is being taken away; its row goes last. */
  'deleted',
] as const

export type AgentStateName = (typeof agentStates)[number]

/** Its sandbox runs and may be given work. */
export function isLive(state: AgentStateName): boolean {
  return state === 'running' || state === 'unhealthy'
}
