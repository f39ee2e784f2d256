import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Token } from './pattern-automaton.ts'
import { createPatternCache } from './pattern-cache.ts'

const tokensOf = (pattern: string): Token[] =>
  Array.from(pattern, (character) => ({ kind: 'literal', character }))

const weightOf = (pattern: string) => {
  const cache = createPatternCache({ tokensOf, bytesMax: Infinity, idleLookups: 0 })
  cache.of(pattern)
  return cache.use().bytes
}

describe('the cache of compiled patterns', () => {
  test('a cache takes no more memory than its limit, whatever is looked up, and answers the same', () => {
    const patterns = fc.array(fc.string({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(patterns, fc.nat({ max: 20 }), fc.nat({ max: 20_000 }), (all, idleLookups, bytesMax) => {
        const cache = createPatternCache({ tokensOf, bytesMax, idleLookups })
        for (const pattern of [...all, ...all.toReversed()]) {
          expect(cache.of(pattern).automaton.run(pattern).matches).toBe(true)
          expect(cache.use().bytes).toBeLessThanOrEqual(bytesMax)
        }
      }),
    )
  })

  test('a list longer than the cache compiles only what it does not hold', () => {
    const list = Array.from({ length: 10 }, (_one, index) => `pattern-${index}`)
    const cache = createPatternCache({ tokensOf, bytesMax: 8.5 * weightOf('pattern-0'), idleLookups: 100 })
    for (const pattern of list) cache.of(pattern)
    for (const pattern of list) cache.of(pattern)
    expect(cache.use().compiled).toBe(12)
  })

  test('a pattern that is not used any more makes room, and one that is used stays', () => {
    const cache = createPatternCache({ tokensOf, bytesMax: 2.5 * weightOf('a'), idleLookups: 5 })
    cache.of('a')
    cache.of('b')
    for (let times = 0; times < 6; times++) cache.of('a')
    cache.of('c')
    expect(cache.use().compiled).toBe(3)
    cache.of('c')
    cache.of('a')
    expect(cache.use().compiled).toBe(3)
    cache.of('b')
    expect(cache.use().compiled).toBe(4)
  })
})
