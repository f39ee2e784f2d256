import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Trust } from './trust.ts'

/** Number of facts in one memory; beyond it the least recently used one is removed, never an owner’s. */
export const factsMax = 20_000

/** Where a fact comes from. */
export interface FactSource {
  readonly runId: string
  /** The tool, or the part of the agent, that saved it. */
  readonly tool: string
  /** Kind of origin of the run, `unknown` if not given. */
  readonly origin: string
  readonly channel: string
  /** Addresses that the agent fetched in the conversation before it saved the fact. */
  readonly urls: readonly string[]
}

/** One remembered fact. Times are milliseconds since 1970. */
export interface Fact {
  readonly id: number
  readonly key: PromptText | null
  readonly text: PromptText
  readonly category: PromptText
  readonly source: FactSource
  readonly trust: Trust
  readonly createdAt: number
  readonly lastUsedAt: number
  /** Number of runs that found it. */
  readonly useCount: number
}

/** A fact as it is saved. */
export interface NewFact {
  readonly text: string
  readonly key?: string | undefined
  readonly category?: string | undefined
  readonly source: FactSource
  readonly trust: Trust
}

export function factName(id: number): string {
  return `fact_${id}`
}

/** Pure. The number in `fact_12`; null for any other text. */
export function readFactName(name: string): number | null {
  const digits = /^fact_(\d{1,15})$/.exec(name.trim())?.[1]
  return digits === undefined ? null : Number(digits)
}
