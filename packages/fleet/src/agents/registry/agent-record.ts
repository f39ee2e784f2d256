/** The stored description of an agent. */

export type AgentKind = 'operator' | 'worker'

export interface AgentBudget {
  readonly dailyUsd: number
  readonly monthlyUsd: number
}

export interface AgentRecord {
  readonly id: string
  readonly kind: AgentKind
  readonly role: string
  /** The agent's model; null for the current default model of the fleet. */
  readonly model: string | null
  /** First content of the agent's INSTRUCTIONS.md. */
  readonly instructions: string
  readonly budget: AgentBudget
  /** The project whose budget the agent's calls are charged to, in addition to the agent's and the fleet's. */
  readonly project: string | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
}
