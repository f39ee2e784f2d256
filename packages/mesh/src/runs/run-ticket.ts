import type { Origin } from '@flotilla/protocol/origin'

/** What a live run entitles its agent to: proof of place in the lane, and the caps it runs under. Pure data. */
export interface RunTicket {
  readonly runId: string
  readonly agentId: string
  readonly fence: number
  readonly taskId: string | null
  readonly origin: Origin
  /** Cap of this run alone, US dollars; null means only the agent's budgets apply. */
  readonly budgetUsd: number | null
  /** The same in tokens, prompts and answers together. */
  readonly budgetTokens: number | null
}
