/** Why a model did not answer, as far as the cause decides when to call it again. */
export type FailureKind =
  /** 429. */
  | 'rate-limited'
  /** The key is rejected or may not use this model: only the owner can repair it. */
  | 'credential'
  /** The account has no credit or quota left: the owner can repair it, or it renews with time. */
  | 'account'
  /** The provider has no such model. */
  | 'unknown-model'
  /** This request exceeds what the account may send per minute; smaller ones may still pass. */
  | 'too-large'
  /** 408, 5xx, or no connection. */
  | 'outage'
  /** The call was sent, and no answer came in time. */
  | 'timeout'
  /** The answer broke off. */
  | 'broken'
  /** The answer was empty. */
  | 'empty'

/**
 * The health of a model. `cooling` lasts beyond `until`: from then on the model is on trial and called like any
 * other, and its first answer makes it `ok` again.
 */
export type ModelHealth =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'cooling'
      readonly since: number
      readonly until: number
      /** True if key or account was refused: until `until` the model is not called, because the answer is known. */
      readonly isShut: boolean
      /** Consecutive failures; those of calls during the cooldown do not count. */
      readonly failures: number
    }

export type HealthEvent =
  | { readonly kind: 'answered'; readonly askedAt: number }
  | {
      readonly kind: 'failed'
      readonly askedAt: number
      readonly failure: FailureKind
      /** The wait that the provider asked for, milliseconds; 0 if none. */
      readonly retryAfterMs: number
      /** True if the answer does not prove the failure; then the model gets a cooldown and is not disabled. */
      readonly isUnproven?: boolean
    }

export const healthy: ModelHealth = { kind: 'ok' }

/**
 * All cooldowns in milliseconds, by number of consecutive failures; the last value applies to all further
 * failures.
 */
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

/** A retry cannot repair these failures. After the cooldown the mesh calls the model again, without a restart. */
const shuts: readonly FailureKind[] = ['credential', 'account']

/**
 * The longest wait that a provider may request before its model is called again, in milliseconds; a longer one counts
 * as this.
 */
export const retryAfterBelievedMaxMs = 120_000

/**
 * Returns the health after an event. Calls sent before the cooldown began do not count: an answer does not end the
 * cooldown, and a failure does not raise the number of failures. Pure.
 */
export function healthAfter(health: ModelHealth, event: HealthEvent, now: number): ModelHealth {
  const holds = health.kind === 'cooling' && hasBegun(health, now)
  if (event.kind === 'answered') return holds && event.askedAt < health.since ? health : healthy
  const shutsModel = shuts.includes(event.failure) && event.isUnproven !== true
  const isNews = shutsModel && health.kind === 'cooling' && !health.isShut
  if (holds && (event.askedAt < health.since || (now < health.until && !isNews))) {
    return { ...health, until: Math.max(health.until, now + statedRetryMs(event)) }
  }
  const failures = (health.kind === 'cooling' ? health.failures : 0) + 1
  const steps = coolDownsMs[event.failure]
  const coolDownMs = statedRetryMs(event) || (steps[Math.min(failures, steps.length) - 1] ?? 0)
  return {
    kind: 'cooling',
    since: now,
    until: now + coolDownMs,
    isShut: shutsModel,
    failures,
  }
}

/** Returns the rest of the cooldown in milliseconds; 0 if the model may be called. Pure. */
export function coolDownLeftMs(health: ModelHealth, now: number): number {
  return health.kind === 'cooling' && hasBegun(health, now) ? Math.max(0, health.until - now) : 0
}

/** Whether key or account was refused and the cooldown lasts, so that the model is not called. Pure. */
export function isShut(health: ModelHealth, now: number): boolean {
  return health.kind === 'cooling' && health.isShut && coolDownLeftMs(health, now) > 0
}

/** Returns false for a cooldown with a start in the future: it began before the clock was set back. */
function hasBegun({ since }: Extract<ModelHealth, { kind: 'cooling' }>, now: number): boolean {
  return since <= now
}

/** Returns the wait that a provider asks for, in milliseconds; only a rate limit may set its own cooldown. */
function statedRetryMs(event: Extract<HealthEvent, { kind: 'failed' }>): number {
  return event.failure === 'rate-limited' ? Math.min(event.retryAfterMs, retryAfterBelievedMaxMs) : 0
}
