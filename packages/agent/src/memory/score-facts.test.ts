import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decay, hybridLikeness, rankFacts, reinforcement } from './score-facts.ts'
import type { Likeness } from './score-facts.ts'

const dayMs = 24 * 3600 * 1000
const fresh = { lastUsedAt: 0, useCount: 0 }
const like = (factId: number, cosine: number | null, words: number | null): Likeness => ({
  factId,
  cosine,
  words,
})

describe('the score of a fact', () => {
  test('meaning counts 0.7 and words 0.3', () => {
    const scores = hybridLikeness([like(1, 0.9, null), like(2, 0.8, 4), like(3, 0.5, 2)])
    expect(scores.map(({ score }) => Number(score.toFixed(4)))).toEqual([0.63, 0.86, 0.5])
  })

  test('what any fact has in likeness counts as nothing, and no likeness is below nothing', () => {
    const scores = hybridLikeness(
      [like(1, 1, null), like(2, 0.9, null), like(3, 0.8, null), like(4, 0.1, null)],
      0.8,
    )
    expect(scores.map(({ score }) => Number(score.toFixed(4)))).toEqual([0.7, 0.35, 0, 0])
    expect(hybridLikeness([like(1, 1, 1)], 1)[0]?.score).toBeCloseTo(0.3)
  })

  test('without any vector the words decide alone, from 0 to 1', () => {
    const scores = hybridLikeness([like(1, null, 8), like(2, null, 2)])
    expect(scores.map(({ score }) => score)).toEqual([1, 0.25])
  })

  test('a fact that has no vector yet is judged by its words among facts that have', () => {
    const scores = hybridLikeness([like(1, null, 5), like(2, 1, 5), like(3, 0, null)])
    expect(scores.map(({ score }) => score)).toEqual([1, 1, 0])
  })

  test('what is not used fades to half and no further, slower the more it was used', () => {
    expect(decay(fresh, 0)).toBe(1)
    expect(decay(fresh, 30 * dayMs)).toBeCloseTo(Math.SQRT1_2)
    expect(decay(fresh, 9999 * dayMs)).toBe(0.5)
    expect(decay({ lastUsedAt: 0, useCount: 3 }, 30 * dayMs)).toBeGreaterThan(decay(fresh, 30 * dayMs))
    expect(decay({ lastUsedAt: 10, useCount: 0 }, 0)).toBe(1)
  })

  test('use reinforces, to a bound', () => {
    expect(reinforcement(fresh)).toBe(1)
    expect(reinforcement({ ...fresh, useCount: 10 })).toBeGreaterThan(
      reinforcement({ ...fresh, useCount: 1 }),
    )
    expect(reinforcement({ ...fresh, useCount: 1e9 })).toBe(1.5)
  })

  test('of equally fitting facts the used and recent one comes first', () => {
    const at = 100 * dayMs
    const ranked = rankFacts(
      [
        { ...like(1, null, 1), ...fresh },
        { ...like(2, null, 1), lastUsedAt: at, useCount: 0 },
        { ...like(3, null, 1), lastUsedAt: at, useCount: 5 },
      ],
      { now: at },
    )
    expect(ranked.map(({ factId }) => factId)).toEqual([3, 2, 1])
  })

  test('every score is a number from 0 to 1.5', () => {
    const part = fc.option(fc.double({ min: -1, max: 1, noNaN: true }))
    const candidate = fc.record({
      cosine: part,
      words: fc.option(fc.double({ min: 0, max: 50, noNaN: true })),
      lastUsedAt: fc.nat(),
      useCount: fc.nat(),
    })
    fc.assert(
      fc.property(fc.array(candidate), fc.nat(), (candidates, now) => {
        const ranked = rankFacts(
          candidates.map((one, factId) => ({ ...one, factId })),
          { now },
        )
        expect(ranked).toHaveLength(candidates.length)
        for (const { score } of ranked) expect(score >= 0 && score <= 1.5).toBe(true)
      }),
    )
  })
})
