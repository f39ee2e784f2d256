import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judgeLoss } from './restart-backoff.ts'

const hourMs = 3600_000

describe('an agent that was lost', () => {
  test.each([
    { restarts: [], at: 1000, kind: 'lose', dueAt: 31_000 },
    { restarts: [0], at: 1000, kind: 'lose', dueAt: 61_000 },
    { restarts: [0, 0], at: 1000, kind: 'lose', dueAt: 121_000 },
    { restarts: [0, 0, 0], at: 1000, kind: 'quarantine', dueAt: 1_201_000 },
    { restarts: [0, 5_000_000, 5_000_000], at: 5_000_000, kind: 'lose', dueAt: 5_120_000 },
    { restarts: Array.from({ length: 16 }, () => 0), at: 9_000_000, kind: 'lose', dueAt: 9_030_000 },
  ])(
    'an agent that was lost after restarts at $restarts and a loss at $at: $kind, due at $dueAt',
    ({ restarts, at, kind, dueAt }) => {
      expect(judgeLoss({ restarts, quarantinedAt: null }, { at, restartsPerHour: 3 })).toEqual({
        kind,
        dueAt,
      })
    },
  )

  test('an agent that was lost in quarantine comes back there at once, however few its restarts', () => {
    expect(judgeLoss({ restarts: [], quarantinedAt: 5 }, { at: 10, restartsPerHour: 3 })).toEqual({
      kind: 'quarantine',
      dueAt: 1_200_010,
    })
  })

  test('an agent that was lost is never started again more often within an hour than the setting says, and always has a next time', () => {
    const perHour = fc.integer({ min: 0, max: 20 })
    fc.assert(
      fc.property(
        perHour,
        fc.array(fc.integer({ min: 0, max: 900_000 }), { maxLength: 60 }),
        (restartsPerHour, gaps) => {
          const restarts: number[] = []
          let now = hourMs
          for (const gap of gaps) {
            now += gap
            const verdict = judgeLoss(
              { restarts: restarts.slice(-16), quarantinedAt: null },
              { at: now, restartsPerHour },
            )
            expect(verdict.dueAt).toBeGreaterThan(now)
            if (verdict.kind === 'quarantine') break
            now = verdict.dueAt
            restarts.push(now)
            const within = restarts.filter((at) => at > now - hourMs).length
            expect(within).toBeLessThanOrEqual(Math.max(restartsPerHour, 1))
          }
        },
      ),
    )
  })
})
