import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { Problem } from '@flotilla/protocol/problem'
import { createCallRate } from './call-rate.ts'
import type { CallRate } from './call-rate.ts'

function refusal(rate: CallRate, agentId = 'a'): Problem | null {
  try {
    rate.take(agentId)
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

describe('a call rate', () => {
  test('a call rate counts each agent on its own and lets it call again after the seconds that it names', async () => {
    const clock = createManualClock()
    const rate = createCallRate({ clock, perMinute: () => 2, what: 'notify' })
    rate.take('a')
    rate.take('a')
    const refused = refusal(rate)
    expect(refused).toMatchObject({
      code: 'rate-limited',
      detail: 'at most 2 calls of notify per minute',
      retryAfterSeconds: 90,
      extra: { limit: 'notify', per_minute: 2, retry_after_seconds: 90 },
    })
    expect(refusal(rate, 'b')).toBeNull()
    await clock.advance(90_000)
    expect(refusal(rate)).toBeNull()
  })

  test('a call rate does not let a burst through at the seam of two minutes', async () => {
    const clock = createManualClock()
    const rate = createCallRate({ clock, perMinute: () => 10 })
    await clock.advance(59_000)
    for (let call = 0; call < 10; call++) rate.take('a')
    await clock.advance(2000)
    expect(() => rate.take('a')).toThrow('at most 10')
  })

  test('a call rate never lets more than twice its number through in any minute, and keeps the promise of Retry-After', async () => {
    const step = fc.record({
      calls: fc.integer({ min: 1, max: 30 }),
      waitMs: fc.integer({ min: 0, max: 90_000 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 20 }),
        async (steps, perMinute) => {
          const clock = createManualClock()
          const rate = createCallRate({ clock, perMinute: () => perMinute })
          const takenAt: number[] = []
          for (const { calls, waitMs } of steps) {
            let refused: Problem | null = null
            for (let call = 0; call < calls && !refused; call++) {
              refused = refusal(rate)
              if (!refused) takenAt.push(clock.now())
            }
            if (refused) {
              expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1)
              expect(refused.retryAfterSeconds).toBeLessThanOrEqual(120)
              await clock.advance((refused.retryAfterSeconds ?? 0) * 1000)
              expect(refusal(rate)).toBeNull()
              takenAt.push(clock.now())
            }
            await clock.advance(waitMs)
          }
          for (const at of takenAt) {
            const within = takenAt.filter((other) => other >= at && other < at + 60_000)
            expect(within.length).toBeLessThanOrEqual(2 * perMinute)
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test('a clock that was set back does not block callers', async () => {
    const clock = createManualClock()
    const rate = createCallRate({ clock, perMinute: () => 2 })
    rate.take('a')
    await clock.advance(60_000)
    rate.take('a')
    await clock.leap(-3_600_000)
    const { retryAfterSeconds = 0 } = refusal(rate) ?? {}
    expect(retryAfterSeconds).toBeLessThanOrEqual(120)
    await clock.advance(120_000)
    expect(refusal(rate)).toBeNull()
  })

  test('a call rate forgets an agent that is deleted', () => {
    const rate = createCallRate({ clock: createManualClock(), perMinute: () => 1 })
    rate.take('a')
    expect(refusal(rate)).not.toBeNull()
    rate.forget('a')
    expect(refusal(rate)).toBeNull()
  })
})
