import type { StepName } from './steps.ts'

/**
 * All that the checks judge, as plain rows: what stands in the database, and what was seen outside. Gathered without any
 * code of the product, so that a mistake there is not repeated here.
 */
export interface Facts {
  readonly runs: readonly RunFact[]
  /** How often the journal says of each run that it ended. */
  readonly endings: ReadonlyMap<string, number>
  readonly letters: readonly LetterFact[]
  /** What runs were told by others. */
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
  /** Kind of whoever asked, such as `human`. */
  readonly origin: string
  readonly parentId: string | null
  readonly taskId: string | null
  readonly key: string | null
  /** Of the plan that it was asked for; null where there was none. */
  readonly marker: string | null
  /** Of the last plan in its conversation, which may be an earlier run's: a steer that became a run brings none. */
  readonly talksOf: string | null
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
  /** How often its work began again: it was given to another agent, or tried again. */
  readonly givenAnew: number
}

/** What an agent asked another. */
export interface MessageFact {
  readonly id: string
  /** The call that sent it. */
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

/** A due time of a job, or a delivery of a webhook: rows that wait for the outcome of their run. */
export interface FiringFact {
  readonly what: string
  readonly runId: string | null
  readonly outcome: string | null
}

/** What somebody outside asked for and heard. */
export interface AskedFact {
  readonly key: string
  readonly kind: 'chat' | 'webhook' | 'invoke' | 'steer'
  readonly way: string
  /** Ids of runs that the mesh named for the key, each once. */
  readonly runIds: readonly string[]
  /** The outcome that it was told; null where it heard none. */
  readonly told: { readonly status: string; readonly text: string } | null
  /** Whether the mesh said that it has it. */
  readonly accepted: boolean
  /** The last refusal, for the reader. */
  readonly refused: string
}

/** A call of a tool, as whoever made it knows of it. */
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
  /** Why nobody can tell its cost; null where its provider told it. */
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

/** What should not be there any more, or twice. */
export interface Leftover {
  readonly check: 'orphan' | 'two-on-one-folder' | 'after-stop' | 'after-reset' | 'temporary-file' | 'journal'
  readonly what: string
}

/** What a check found wrong. */
export interface Finding {
  readonly check: string
  readonly what: string
  /** Rows and ids that show it. */
  readonly evidence: readonly string[]
}
