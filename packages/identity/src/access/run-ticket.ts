import type { Origin } from '@flotilla/protocol/origin'

/** The limits of a run and all the work that it handed off; null means no such limit. */
export interface RunCap {
  readonly runId: string
  /** US dollars. */
  readonly budgetUsd: number | null
  /** Prompts and answers together. */
  readonly budgetTokens: number | null
}

/** The rights of a live run's agent: its place in the lane, and the limits of the run. Pure data. */
export interface RunTicket extends RunCap {
  readonly agentId: string
  readonly fence: number
  readonly taskId: string | null
  readonly origin: Origin
  /** Limits of all runs from which this run was handed off: the use of this run counts there too. */
  readonly capsAbove?: readonly RunCap[]
}
