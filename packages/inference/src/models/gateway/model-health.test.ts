import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { coolDownLeftMs, healthAfter, healthy, isShut, retryAfterBelievedMaxMs } from './model-health.ts'
import type { FailureKind, ModelHealth } from './model-health.ts'

const hourMs = 3_600_000

function failed(
  failure: FailureKind,
  more: { askedAt?: number; retryAfterMs?: number } = {},
): Parameters<typeof healthAfter>[1] {
  return { kind: 'failed', failure, askedAt: more.askedAt ?? 0, retryAfterMs: more.retryAfterMs ?? 0 }
}

/** Reports a failure each time that the cooldown has ended; returns the length of each cooldown. */
function coolDowns(failure: FailureKind, times: number): number[] {
  let health: ModelHealth = healthy
  let now = 0
  return Array.from({ length: times }, () => {
    health = healthAfter(health, failed(failure, { askedAt: now }), now)
    const leftMs = coolDownLeftMs(health, now)
    now += leftMs
    return leftMs
  })
}

describe('the health of a model', () => {
  test('a rate limit cools for seconds and never for an hour', () => {
    heedsLesson(129)
    expect(coolDowns('rate-limited', 6)).toEqual([10_000, 30_000, 60_000, 120_000, 120_000, 120_000])
  })

  test('a rate limit that names its end is believed, and no longer than the bound', () => {
    heedsLesson(129)
    const after = (retryAfterMs: number) =>
      coolDownLeftMs(healthAfter(healthy, failed('rate-limited', { retryAfterMs }), 0), 0)
    expect(after(3000)).toBe(3000)
    expect(after(100 * hourMs)).toBe(retryAfterBelievedMaxMs)
  })

  test.each(['credential', 'account'] as const)(
    '%s: shut from the first refusal, and asked again within five minutes at the latest',
    (kind) => {
      expect(coolDowns(kind, 5)).toEqual([30_000, 60_000, 120_000, 300_000, 300_000])
      const health = healthAfter(healthy, failed(kind), 0)
      expect([isShut(health, 29_999), isShut(health, 30_000)]).toEqual([true, false])
    },
  )

  test('a model that cools for a while is shut by a refusal that comes meanwhile', () => {
    const limited = healthAfter(healthy, failed('rate-limited'), 0)
    expect(isShut(limited, 1)).toBe(false)
    expect(isShut(healthAfter(limited, failed('account', { askedAt: 1 }), 2), 2)).toBe(true)
  })

  test('what was asked before it was shut makes it no longer shut', () => {
    const shut = healthAfter(healthy, failed('credential'), 10)
    expect(healthAfter(shut, failed('credential', { askedAt: 5 }), 20)).toEqual(shut)
  })

  test.each(['outage', 'timeout', 'broken', 'empty'] as const)(
    '%s cools longer each time, up to a bound',
    (kind) => {
      const leftMs = coolDowns(kind, 8)
      expect(leftMs).toEqual(leftMs.toSorted((a, b) => a - b))
      expect(leftMs[2]).toBeGreaterThan(leftMs[0] ?? 0)
      expect(leftMs[7]).toBe(leftMs[2])
      expect(leftMs[7]).toBeLessThan(hourMs)
    },
  )

  test('fifty calls that fail together count as one failure', () => {
    let health: ModelHealth = healthy
    for (let call = 0; call < 50; call++)
      health = healthAfter(health, failed('outage', { askedAt: 0 }), 100 + call)
    expect(health).toMatchObject({ kind: 'cooling', failures: 1, since: 100, until: 30_100 })
  })

  test('a failure that was asked for before the cool-down does not make the next one longer', () => {
    const cooling = healthAfter(healthy, failed('outage'), 1000)
    expect(healthAfter(cooling, failed('timeout', { askedAt: 999 }), 100_000)).toMatchObject({ failures: 1 })
  })

  test('a clock that was set back makes no cool-down longer', () => {
    const health = healthAfter(healthy, failed('outage', { askedAt: hourMs }), hourMs)
    expect(coolDownLeftMs(health, hourMs)).toBe(30_000)
    expect(coolDownLeftMs(health, 0)).toBeLessThanOrEqual(30_000)
    expect(healthAfter(health, { kind: 'answered', askedAt: 0 }, 0)).toEqual(healthy)
  })

  test('an answer ends it, on trial and in the middle of it', () => {
    const cooling = healthAfter(healthy, failed('outage'), 1000)
    expect(healthAfter(cooling, { kind: 'answered', askedAt: 1500 }, 2000)).toEqual(healthy)
    expect(healthAfter(cooling, { kind: 'answered', askedAt: 40_000 }, 41_000)).toEqual(healthy)
  })

  test('an answer to what was asked before does not end it', () => {
    const cooling = healthAfter(healthy, failed('rate-limited'), 1000)
    expect(healthAfter(cooling, { kind: 'answered', askedAt: 900 }, 1500)).toBe(cooling)
  })
})
