import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  freshCalibration,
  learnFromOverflow,
  learnFromUsage,
  ratioRange,
  readOverflow,
} from './calibration.ts'

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

  test('nobody talks us out of the bounds', () => {
    expect(learnFromUsage(freshCalibration, { counted: 1000, told: 1e9 }).ratio).toBe(ratioRange.max)
    expect(learnFromUsage(freshCalibration, { counted: 1e9, told: 1 }).ratio).toBe(ratioRange.min)
  })

  test('a refusal always makes the same prompt fill more of the window (lesson 108)', () => {
    fc.assert(
      fc.property(
        fc.record({
          ratio: fc.double({ min: 0.3, max: 5, noNaN: true }),
          confirmed: fc.boolean(),
          windowTokens: fc.constant(null),
        }),
        fc.record({
          counted: fc.integer({ min: 3000, max: 1_000_000 }),
          windowTokens: fc.integer({ min: 4000, max: 1_000_000 }),
          words: fc.constantFrom(
            'too long',
            'context length exceeded: 5000',
            'prompt is too long: 300000 tokens > 200000 maximum',
          ),
        }),
        (before, call) => {
          const { counted, windowTokens } = call
          const after = learnFromOverflow(before, call)
          const fillBefore = (counted * before.ratio) / windowTokens
          const fillAfter =
            (counted * after.ratio) / Math.min(windowTokens, after.windowTokens ?? windowTokens)
          expect(after.ratio).toBeLessThanOrEqual(ratioRange.max)
          expect(fillAfter).toBeGreaterThan(fillBefore)
        },
      ),
    )
  })

  test.each([
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 10050 tokens.",
      { windowTokens: 8192, promptTokens: 10_050 },
    ],
    ['prompt is too long: 208310 tokens > 200000 maximum', { windowTokens: 200_000, promptTokens: 208_310 }],
    [
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      { windowTokens: 1_048_576, promptTokens: 1_200_000 },
    ],
    [
      'the request exceeds the available context size (8192 tokens)',
      { windowTokens: 8192, promptTokens: null },
    ],
    ['maximum context length is 3 tokens', null],
    ['something else went wrong', null],
  ])('%s', (words, told) => {
    expect(readOverflow(words)).toEqual(told)
  })
})
