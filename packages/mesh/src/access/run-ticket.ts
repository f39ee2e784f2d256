import type { Origin } from '@flotilla/protocol/origin'

/** What a run and all the work that it gave away may use; null means no such cap. */
export interface RunCap {
  readonly runId: string
  /** US dollars. */
  readonly budgetUsd: number | null
  /** Prompts and answers together. */
  readonly budgetTokens: number | null
}

/** What a live run entitles its agent to: proof of place in the lane, and the caps it runs under. Pure data. */
export interface RunTicket extends RunCap {
  readonly agentId: string
  readonly fence: number
  readonly taskId: string | null
  readonly origin: Origin
  /** Of the runs that it works for, near or far: what it uses counts there too. */
  readonly capsAbove?: readonly RunCap[]
}
