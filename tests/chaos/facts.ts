import type { StepName } from './steps.ts'

/**
 * Everything that the checks judge, as plain rows: the database, and what was observed from outside. It is gathered
 * without any code of the product, so that a mistake of the product is not repeated here.
 */
export interface Facts {
  readonly runs: readonly RunFact[]
  /** Number of journal rows that say that a run ended, by run. */
  readonly endings: ReadonlyMap<string, number>
  readonly letters: readonly LetterFact[]
  /** Notifications that runs received from tasks and messages. */
  readonly notes: readonly { readonly runId: string; readonly source: string }[]
  readonly tasks: readonly TaskFact[]
  readonly steers: readonly SteerFact[]
  readonly steersSeen: ReadonlyMap<string, number>
  readonly messages: readonly MessageFact[]
  readonly answersSeen: ReadonlyMap<string, number>
  readonly firings: readonly FiringFact[]
  readonly asked: readonly AskedFact[]
  readonly calls: readonly CallFact[]
  readonly effects: readonly EffectFact[]
  /** Versions of keys that more than one call writes, in the order of the journal. */
  readonly versions: ReadonlyMap<string, readonly number[]>
  readonly billed: readonly BilledFact[]
  readonly money: MoneyFacts
  readonly leftovers: readonly Leftover[]
}

export interface RunFact {
  readonly id: string
  readonly agentId: string
  readonly state: string
  /** Kind of origin, such as `human`. */
  readonly origin: string
  readonly parentId: string | null
  readonly taskId: string | null
  readonly key: string | null
  /** Marker of the plan in the run's input; null if the input has no plan. */
  readonly marker: string | null
  /**
   * Marker of the last plan in the run's conversation. It may be of an earlier run: a steer that became a run has
   * no plan.
   */
  readonly talksOf: string | null
  /** The conversation of the run. Webhooks to one address share one, with plans of many events. */
  readonly conversation: string
  readonly outcome: { readonly status: string; readonly text: string; readonly code?: string } | null
  readonly costUsd: number
}

/** A row of the outbox. */
export interface LetterFact {
  readonly id: string
  readonly source: string
  readonly recipient: string
  readonly runId: string
  readonly state: string
}

export interface TaskFact {
  readonly id: string
  readonly title: string
  readonly state: string
  readonly parentRunId: string | null
  readonly runId: string
  /** How often the task began again, because it was given to another agent or retried. */
  readonly givenAnew: number
}

/** A message of an agent to another agent. */
export interface MessageFact {
  readonly id: string
  /** Id of the tool call that sent the message. */
  readonly callId: string
  readonly state: string
  readonly askingRunId: string
  readonly runId: string | null
}

export interface SteerFact {
  readonly id: string
  readonly key: string | null
  readonly state: string
  readonly becameRunId: string | null
}

/** A due time of a job or a delivery of a webhook, which wait for the outcome of their run. */
export interface FiringFact {
  readonly what: string
  readonly runId: string | null
  readonly outcome: string | null
}

/** A request of an external client, and what the client learned of its outcome. */
export interface AskedFact {
  readonly key: string
  readonly kind: 'chat' | 'webhook' | 'invoke' | 'steer'
  readonly way: string
  /** Distinct run ids that the mesh named for the key. */
  readonly runIds: readonly string[]
  /** The outcome that the client received; null if it received none. */
  readonly told: { readonly status: string; readonly text: string } | null
  /** Whether the mesh confirmed that it accepted the request. */
  readonly accepted: boolean
  /** The last refusal, as text for the report. */
  readonly refused: string
}

/** A tool call, as the model or client that made it knows it. */
export interface CallFact {
  readonly id: string
  readonly marker: string
  readonly step: StepName
  readonly told: 'done' | 'refused' | 'unknown' | null
  readonly words: string
}

/** One effect that was found, and where. */
export interface EffectFact {
  readonly callId: string
  readonly where: string
}

export interface BilledFact {
  readonly number: number
  readonly marker: string | null
  readonly costNano: number
  /** Whether the whole answer was sent. */
  readonly whole: boolean
}

export interface MoneyFacts {
  readonly spend: readonly SpendFact[]
  readonly totals: readonly TotalFact[]
  readonly daily: readonly DailyFact[]
}

export interface SpendFact {
  readonly id: string
  readonly agentId: string
  readonly runId: string | null
  readonly taskId: string | null
  readonly project: string | null
  readonly state: string
  readonly day: string
  readonly reservedNano: number
  readonly costNano: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** Why the cost is not known exactly; null if the provider reported it. */
  readonly unconfirmed: string | null
}

export interface TotalFact {
  readonly scope: string
  readonly period: string
  readonly openNano: number
  readonly spentNano: number
  readonly calls: number
}

export interface DailyFact {
  readonly day: string
  readonly agentId: string
  readonly costNano: number
  readonly calls: number
}

/** Something that should no longer exist, or exists twice. */
export interface Leftover {
  readonly check: 'orphan' | 'two-on-one-folder' | 'after-stop' | 'after-reset' | 'temporary-file' | 'journal'
  readonly what: string
}

/** A fault that a check found. */
export interface Finding {
  readonly check: string
  readonly what: string
  /** Rows and ids that prove it. */
  readonly evidence: readonly string[]
}
