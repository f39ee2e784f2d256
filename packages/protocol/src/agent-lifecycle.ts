/**
 * The lifecycle state of an agent, as all clients see it. The mesh changes it by one table
 * (`fleet/src/agents/registry/agent-state.ts`).
 */
export const agentStates = [
  /** The agent is in the database and was never started. */
  'created',
  'starting',
  'running',
  /** The agent runs, and left one or two health checks unanswered. */
  'unhealthy',
  'stopping',
  /** A person stopped the agent, or its mesh stopped; the next work starts it. */
  'stopped',
  /** The agent had no work for a while; the next work wakes it. */
  'hibernated',
  /** The agent ended, hung or could not be started. It is restarted after a backoff, or at once by new work. */
  'restarting',
  /** The agent was restarted too often; it is retried once in a while, or when a person starts it. */
  'quarantined',
  /** The agent is archived: nothing starts it and it gets no work. */
  'archived',
  /** The agent's data is being deleted; its row is deleted last. */
  'deleted',
] as const

export type AgentStateName = (typeof agentStates)[number]

/** Whether the agent's sandbox runs and may get work. */
export function isLive(state: AgentStateName): boolean {
  return state === 'running' || state === 'unhealthy'
}
