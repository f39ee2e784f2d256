import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { freshCalibration, learnFromOverflow, learnFromUsage, ratioRange } from './calibration.ts'

describe('what a model teaches about our count', () => {
  test('the first usage is believed, later ones upward at once and downward by half', () => {
    const first = learnFromUsage(freshCalibration, { counted: 1000, told: 1500 })
    expect(first).toMatchObject({ ratio: 1.5, confirmed: true })
    expect(learnFromUsage(first, { counted: 1000, told: 2000 }).ratio).toBe(2)
    expect(learnFromUsage(first, { counted: 1000, told: 1000 }).ratio).toBe(1.25)
  })

  test('a prompt of a few words, or an answer without usage, teaches nothing', () => {
    expect(learnFromUsage(freshCalibration, { counted: 50, told: 500 })).toBe(freshCalibration)
    expect(learnFromUsage(freshCalibration, { counted: 5000, told: 0 })).toBe(freshCalibration)
  })

  test('no reported usage moves the ratio out of its bounds', () => {
    expect(learnFromUsage(freshCalibration, { counted: 1000, told: 1e9 }).ratio).toBe(ratioRange.max)
    expect(learnFromUsage(freshCalibration, { counted: 1e9, told: 1 }).ratio).toBe(ratioRange.min)
  })

  test('a refusal always makes the same prompt fill more of the window', () => {
    heedsLesson(108)
    fc.assert(
      fc.property(
        fc.record({
          ratio: fc.double({ min: 0.3, max: 5, noNaN: true }),
          confirmed: fc.boolean(),
        }),
        fc.record({
          counted: fc.integer({ min: 3000, max: 1_000_000 }),
          windowTokens: fc.integer({ min: 4000, max: 1_000_000 }),
          words: fc.constantFrom(
            'too long',
            'context length exceeded: 5000',
            'maximum context length is 8192 tokens',
            'prompt is too long: 300000 tokens > 200000 maximum',
          ),
        }),
        (before, call) => {
          const { counted, windowTokens } = call
          const { calibration, learnedWindow } = learnFromOverflow(before, { ...call, learnedWindow: null })
          const fillBefore = (counted * before.ratio) / windowTokens
          const fillAfter =
            (counted * calibration.ratio) / Math.min(windowTokens, learnedWindow?.tokens ?? windowTokens)
          expect(calibration.ratio).toBeLessThanOrEqual(ratioRange.max)
          expect(fillAfter).toBeGreaterThan(fillBefore)
        },
      ),
    )
  })

  test('a stated limit is learned unchanged, and nothing below it', () => {
    heedsLesson(108)
    const learned = fc.option(
      fc.record({ tokens: fc.integer({ min: 2000, max: 300_000 }), isStated: fc.boolean() }),
      { nil: null },
    )
    const call = fc.record({
      counted: fc.integer({ min: 1, max: 1_000_000 }),
      windowTokens: fc.integer({ min: 2000, max: 1_000_000 }),
      learnedWindow: learned,
    })
    const before = fc.record({ ratio: fc.double({ min: 0.2, max: 6, noNaN: true }), confirmed: fc.boolean() })
    fc.assert(
      fc.property(before, call, fc.integer({ min: 2000, max: 1_000_000 }), (calibration, refused, limit) => {
        const stated = learnFromOverflow(calibration, {
          ...refused,
          words: `maximum context length is ${limit} tokens`,
        })
        expect(stated.learnedWindow).toEqual({ tokens: limit, isStated: true })
        const after = learnFromOverflow(stated.calibration, { ...refused, ...stated, words: 'too long' })
        expect(after.learnedWindow?.tokens).toBe(limit)
      }),
    )
  })
})
