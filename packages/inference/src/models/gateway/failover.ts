import type { Problem } from '@flotilla/protocol/problem'
import type { Affected } from '../refusals/judge-refusal.ts'
import type { FailureKind } from './model-health.ts'

/** One attempt that gave no answer. */
export interface Failure {
  readonly problem: Problem
  /** Null if the call itself is at fault or no other model can help; then the error is returned without a retry. */
  readonly kind: FailureKind | null
  /** The wait that the provider asked for, milliseconds; 0 if none. */
  readonly retryAfterMs: number
  /** True if the provider may have done the work and may bill it; then the price counts as spent. */
  readonly mayBeBilled: boolean
  /** True if the provider says that a retry is useless. */
  readonly isFinal?: boolean
  /** The callers whose calls avoid the model after the failure; `call` means that no other call avoids it. */
  readonly affects: Affected
}

/** The waits before the first and the second retry of the same model. */
const backOffMs = [500, 2000] as const
/** The retries of a model that is called during its cooldown as the last resort. */
const lastResortRetriesMax = 1
/** The time after the start of a call in which the same model is retried; a person may be waiting. */
const retryWithinMs = 8000
/** The longest accepted Retry-After, without and with another model that could answer. */
const waitAloneMaxMs = 10_000
const waitAmongOthersMaxMs = 2000

/** Failures that often pass within seconds. A wrong key does not pass, and a timeout has used up time already. */
const healsSoon: readonly FailureKind[] = ['rate-limited', 'outage', 'broken', 'empty']

export interface Candidate {
  /** The index in the chain. */
  readonly index: number
  readonly coolDownLeftMs: number
  /** True if the model's key or account is refused, so that the model is not even a last resort. */
  readonly isShut?: boolean
}

/** The model to call; `isLastResort` if all models cool down and the cooldown of this model ends first. */
export interface Choice {
  readonly index: number
  readonly isLastResort: boolean
}

/** Returns the first model without cooldown, else the one without `isShut` that is free first; else null. Pure. */
export function chooseModel(candidates: readonly Candidate[]): Choice | null {
  const rested = candidates.find(({ coolDownLeftMs }) => coolDownLeftMs === 0)
  if (rested) return { index: rested.index, isLastResort: false }
  const byEnd = candidates.toSorted((a, b) => a.coolDownLeftMs - b.coolDownLeftMs)
  const soonest = byEnd.find(({ isShut }) => isShut !== true)
  return soonest ? { index: soonest.index, isLastResort: true } : null
}

export interface Standing {
  readonly failure: Failure
  /** How often this model was retried already. */
  readonly retries: number
  readonly isLastResort: boolean
  /** Time since the call began. */
  readonly elapsedMs: number
  /** Models of the chain that this call has not tried yet. */
  readonly others: readonly Candidate[]
  /** A random number from 0 to 1, so that calls that failed together do not all retry together. */
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
export function nextStep(situation: Standing): Step {
  const { failure, others } = situation
  if (failure.kind === null) return { do: 'give-up' }
  const waitMs = retryWaitMs(situation)
  if (waitMs !== null) return { do: 'retry', waitMs }
  const choice = situation.isLastResort ? null : chooseModel(others)
  return choice ? { do: 'switch', ...choice } : { do: 'give-up' }
}

/** Returns the wait before a retry of the same model; null for no retry. */
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
  const retryAfterMaxMs = isAlone ? waitAloneMaxMs : waitAmongOthersMaxMs
  if (failure.retryAfterMs > retryAfterMaxMs) return null
  return Math.max(failure.retryAfterMs, Math.round(pauseMs * (0.75 + chance / 2)))
}
