import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPatternFinder, patternMinUnits } from './find-patterns.ts'
import type { Occurrence } from './find-patterns.ts'
import { inOneGo, stepUnits } from './in-steps.ts'
import { unitsOf } from './text-views.ts'

const find = (text: string, ...patterns: string[]) =>
  inOneGo(createPatternFinder(patterns.map(unitsOf)).find(unitsOf(text))).toSorted(byPlace)

function byPlace(one: Occurrence, other: Occurrence): number {
  return one.pattern - other.pattern || one.from - other.from
}

/** The reference: tries each pattern at each position, and joins occurrences that overlap or touch. */
function searchedPlainly(text: string, patterns: readonly string[]): Occurrence[] {
  return patterns.flatMap((pattern, index) => {
    const found: Occurrence[] = []
    for (let from = text.indexOf(pattern); from >= 0; from = text.indexOf(pattern, from + 1)) {
      const to = from + pattern.length
      const last = found.at(-1)
      if (last && from <= last.to) found[found.length - 1] = { ...last, to }
      else found.push({ pattern: index, from, to })
    }
    return found
  })
}

describe('the search for patterns', () => {
  test('the search for patterns finds what a plain search finds, of texts that nearly repeat themselves', () => {
    // Two letters produce many partial matches, in which a search that resumes at a wrong position misses one.
    const letters = (minLength: number, maxLength: number) =>
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength })
    fc.assert(
      fc.property(
        fc.array(letters(patternMinUnits, patternMinUnits + 6), { minLength: 1, maxLength: 4 }),
        fc.array(fc.oneof(letters(0, 5), fc.nat(3)), { maxLength: 12 }),
        (patterns, pieces) => {
          const text = pieces
            .map((piece) => (typeof piece === 'string' ? piece : (patterns[piece] ?? '')))
            .join('')
          expect(find(text, ...patterns)).toEqual(searchedPlainly(text, patterns))
        },
      ),
      { numRuns: 300 },
    )
  })

  test.each([
    ['at the very beginning', 'password and more', 0],
    ['at the very end', 'more and password', 9],
    ['as the whole text', 'password', 0],
    ['after most of itself', 'passwopassword', 6],
  ])('the search for patterns finds one that is %s', (_where, text, from) => {
    expect(find(text, 'password')).toEqual([{ pattern: 0, from, to: from + 8 }])
  })

  test.each(Array.from({ length: 9 }, (_, before) => before))(
    'the search for patterns finds one that begins %i units before a step ends, and one in the last step',
    (before) => {
      const from = stepUnits - before
      const text = `${'-'.repeat(from)}password${'-'.repeat(stepUnits)}pasthepass`
      expect(find(text, 'password', 'pasthepass')).toEqual([
        { pattern: 0, from, to: from + 8 },
        { pattern: 1, from: text.length - 10, to: text.length },
      ])
    },
  )

  test('the search for patterns does not take one for found whose first unit differs', () => {
    expect(find('Xassword password', 'password')).toEqual([{ pattern: 0, from: 9, to: 17 }])
  })

  test('the search for patterns finds each of several that begin alike, and one within another', () => {
    expect(
      find('a password-of-mine', 'password-of-mine', 'password', 'password-of-yours', 'word-of-'),
    ).toEqual([
      { pattern: 0, from: 2, to: 18 },
      { pattern: 1, from: 2, to: 10 },
      { pattern: 3, from: 6, to: 14 },
    ])
  })

  test('the search for patterns makes one of what overlaps or touches, so that a text of one letter is one find', () => {
    expect(find('a'.repeat(1000), 'a'.repeat(8))).toEqual([{ pattern: 0, from: 0, to: 1000 }])
    expect(find('password'.repeat(3), 'password')).toEqual([{ pattern: 0, from: 0, to: 24 }])
    expect(find('password password', 'password')).toHaveLength(2)
  })

  test('the search for patterns finds nothing in what is shorter than any pattern, and nothing without patterns', () => {
    expect(find('passwor', 'password')).toEqual([])
    expect(find('', 'password')).toEqual([])
    expect(find('password')).toEqual([])
  })
})
