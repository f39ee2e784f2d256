/** Why a model did not answer, as far as it matters to when it is worth asking again. */
export type FailureKind =
  /** 429. */
  | 'rate-limited'
  /** The key is refused, or may not use this model: only the owner can mend it. */
  | 'credential'
  /** The account has no credit or quota left: only the owner can mend it, or time. */
  | 'account'
  /** The provider has no such model. */
  | 'unknown-model'
  /** The request alone is above what the account may send in a minute; it says nothing of smaller ones. */
  | 'too-large'
  /** 408, 5xx, or no connection. */
  | 'outage'
  /** The call went out, and then there was silence. */
  | 'timeout'
  /** The answer broke off. */
  | 'broken'
  /** An answer with nothing in it. */
  | 'empty'

/**
 * How a model does. `cooling` lasts beyond `until`: from then on the model is on trial, asked like any other, and the
 * first answer makes it `ok` again.
 */
export type ModelHealth =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'cooling'
      readonly since: number
      readonly until: number
      /** Permanently refused: until then it is not asked at all, since the answer is known. */
      readonly isShut: boolean
      /** Failures in a row; those that came while it cooled do not count, since they tell nothing new. */
      readonly failures: number
    }

type HealthEvent =
  | { readonly kind: 'answered'; readonly askedAt: number }
  | {
      readonly kind: 'failed'
      readonly askedAt: number
      readonly failure: FailureKind
      /** What the provider asked for; 0 when it asked for nothing. */
      readonly retryAfterMs: number
    }

export const healthy: ModelHealth = { kind: 'ok' }

/** By number of consecutive failures; the last value applies to all further ones. */
const coolDownsMs = {
  'rate-limited': [10_000, 30_000, 60_000, 120_000],
  credential: [30_000, 60_000, 120_000, 300_000],
  account: [30_000, 60_000, 120_000, 300_000],
  'unknown-model': [30_000, 120_000, 300_000],
  'too-large': [0],
  outage: [30_000, 120_000, 600_000],
  timeout: [30_000, 120_000, 600_000],
  broken: [10_000, 30_000, 120_000],
  empty: [10_000, 30_000, 120_000],
} as const satisfies Record<FailureKind, readonly number[]>

/** Nothing that a call does heals these. Each is asked again after its cool-down, so that it recovers without a restart. */
const shuts: readonly FailureKind[] = ['credential', 'account']

/** Longest that a provider's own word is believed. */
export const retryAfterBelievedMaxMs = 120_000

/**
 * The health after something happened. What was asked before the cool-down began says nothing about it: neither does
 * its answer end it, nor its failure make it longer. Pure.
 */
export function healthAfter(health: ModelHealth, event: HealthEvent, now: number): ModelHealth {
  const holds = health.kind === 'cooling' && hasBegun(health, now)
  if (event.kind === 'answered') return holds && event.askedAt < health.since ? health : healthy
  const isNews = shuts.includes(event.failure) && health.kind === 'cooling' && !health.isShut
  if (holds && (event.askedAt < health.since || (now < health.until && !isNews))) {
    return { ...health, until: Math.max(health.until, now + askedForMs(event)) }
  }
  const failures = (health.kind === 'cooling' ? health.failures : 0) + 1
  const steps = coolDownsMs[event.failure]
  const coolDownMs = askedForMs(event) || (steps[Math.min(failures, steps.length) - 1] ?? 0)
  return {
    kind: 'cooling',
    since: now,
    until: now + coolDownMs,
    isShut: shuts.includes(event.failure),
    failures,
  }
}

/** 0 for a model that may be asked. Pure. */
export function coolDownLeftMs(health: ModelHealth, now: number): number {
  return health.kind === 'cooling' && hasBegun(health, now) ? Math.max(0, health.until - now) : 0
}

/** Whether it is refused for good, as far as is known now: then it is not asked. Pure. */
export function isShut(health: ModelHealth, now: number): boolean {
  return health.kind === 'cooling' && health.isShut && coolDownLeftMs(health, now) > 0
}

/** One that begins in the time to come was begun by a clock that was set back since. */
function hasBegun({ since }: Extract<ModelHealth, { kind: 'cooling' }>, now: number): boolean {
  return since <= now
}

/** Only a rate limit's word on its own end is worth following. */
function askedForMs(event: Extract<HealthEvent, { kind: 'failed' }>): number {
  return event.failure === 'rate-limited' ? Math.min(event.retryAfterMs, retryAfterBelievedMaxMs) : 0
}
