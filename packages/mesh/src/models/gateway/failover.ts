import type { Problem } from '@flotilla/protocol/problem'
import type { FailureKind } from './model-health.ts'

/** One attempt that gave no answer. */
export interface Failure {
  readonly problem: Problem
  /** Null if the call itself is at fault, or another model cannot help: the error is returned and never retried. */
  readonly kind: FailureKind | null
  /** What the provider asked for; 0 when it asked for nothing. */
  readonly retryAfterMs: number
  /** The far end may have done the work all the same, so that its price counts as spent. */
  readonly mayBeBilled: boolean
  /** The provider says itself that asking again is in vain. */
  readonly isFinal?: boolean
}

/** Asked again of the same model after the first failure, and pauses before that. */
const backOffMs = [500, 2000] as const
/** A model that should be cooling gets one more chance and no second. */
const lastResortRetriesMax = 1
/** Later than this after the call began, the same model is not asked again: an agent waits, and so does a person. */
const retryWithinMs = 8000
/** Longest Retry-After that is waited for where no other model could answer instead, and where one could. */
const waitAloneMaxMs = 10_000
const waitAmongOthersMaxMs = 2000

/** These heal in seconds; a key does not, and a long silence has cost enough time already. */
const healsSoon: readonly FailureKind[] = ['rate-limited', 'outage', 'broken', 'empty']

export interface Candidate {
  /** Place in the chain. */
  readonly index: number
  readonly coolDownLeftMs: number
  /** Refused for good, as far as is known now: it is not even a last resort. */
  readonly isShut?: boolean
}

/** A model to ask; `isLastResort` when everybody cools and it is the one with the least left. */
export interface Choice {
  readonly index: number
  readonly isLastResort: boolean
}

/** The first that does not cool, else the one whose cool-down ends first; never one that is shut. Pure. */
export function chooseModel(candidates: readonly Candidate[]): Choice | null {
  const rested = candidates.find(({ coolDownLeftMs }) => coolDownLeftMs === 0)
  if (rested) return { index: rested.index, isLastResort: false }
  const byEnd = candidates.toSorted((a, b) => a.coolDownLeftMs - b.coolDownLeftMs)
  const soonest = byEnd.find(({ isShut }) => isShut !== true)
  return soonest ? { index: soonest.index, isLastResort: true } : null
}

export interface Standing {
  readonly failure: Failure
  /** How often this very model was asked again already. */
  readonly retries: number
  readonly isLastResort: boolean
  /** Since the call began. */
  readonly elapsedMs: number
  /** Models of the chain that this call has not asked yet. */
  readonly others: readonly Candidate[]
  /** From 0 to 1, so that many who failed at once do not come back at once. */
  readonly chance: number
}

export type Step =
  | { readonly do: 'retry'; readonly waitMs: number }
  | ({ readonly do: 'switch' } & Choice)
  | { readonly do: 'give-up' }

/**
 * Decides what follows a failure: a retry of the same model if it may help, then the next model of the chain.
 * Permanent failures never cascade, and after the last resort the call fails. Pure.
 */
export function nextStep(standing: Standing): Step {
  const { failure, others } = standing
  if (failure.kind === null) return { do: 'give-up' }
  const waitMs = retryWaitMs(standing)
  if (waitMs !== null) return { do: 'retry', waitMs }
  const choice = standing.isLastResort ? null : chooseModel(others)
  return choice ? { do: 'switch', ...choice } : { do: 'give-up' }
}

/** Null when the same model is not to be asked again. */
function retryWaitMs({ failure, retries, isLastResort, elapsedMs, others, chance }: Standing): number | null {
  const pauseMs = backOffMs[retries]
  if (pauseMs === undefined || (isLastResort && retries >= lastResortRetriesMax)) return null
  if (
    failure.isFinal === true ||
    failure.kind === null ||
    !healsSoon.includes(failure.kind) ||
    elapsedMs > retryWithinMs
  )
    return null
  const isAlone = !others.some(({ coolDownLeftMs }) => coolDownLeftMs === 0)
  const askedMaxMs = isAlone ? waitAloneMaxMs : waitAmongOthersMaxMs
  if (failure.retryAfterMs > askedMaxMs) return null
  return Math.max(failure.retryAfterMs, Math.round(pauseMs * (0.75 + chance / 2)))
}
