import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRepeatedDeltas, readOnce } from './repeated-deltas.ts'

function read(pieces: readonly string[]): string {
  const deltas = createRepeatedDeltas()
  return pieces.map((piece) => deltas.take(piece)).join('') + deltas.rest()
}

const word = fc.string({ minLength: 1, maxLength: 8 })

describe('pieces of a stream', () => {
  test('pieces of a stream without a chain of repetitions are joined, whatever they are', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 2, maxLength: 30 }), (pieces) => {
        const [first = '', second = ''] = pieces
        fc.pre(!second.startsWith(first))
        expect(read(pieces)).toBe(pieces.join(''))
      }),
    )
  })

  test('pieces of a stream that each repeat all text so far are read once', () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 39 }), { minLength: 4, maxLength: 20 })
    const text = 'abcdefghijklmnopqrstuvwxyz0123456789ABCD'
    fc.assert(
      fc.property(cuts, (places) => {
        const all = [...places.toSorted((a, b) => a - b), text.length]
        expect(read(all.map((at) => text.slice(0, at)))).toBe(text)
      }),
    )
  })

  test('pieces of a stream of three or less different characters are never dropped', () => {
    const sign = fc.array(fc.constantFrom('a', 'b', ' '), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(sign, fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 2 }), (signs, places) => {
        const pieces = places.map((at) => signs.slice(0, at).join(''))
        expect(read(pieces)).toBe(pieces.join(''))
      }),
    )
  })

  test('pieces of a stream that are all there keep their places unless they repeat each other', () => {
    expect(readOnce(['ha', 'haha'])).toEqual(['ha', 'haha'])
    expect(readOnce(['ha', 'haha', '!'])).toEqual(['ha', 'haha', '!'])
    expect(readOnce(['a', 'ab', 'abc', 'abcd'])).toEqual(['a', '', '', 'bcd'])
    expect(readOnce([])).toEqual([])
  })

  test('pieces of a stream in which a model writes one line again and again are never dropped', () => {
    const line = '2026-11-29 14:40:00 INFO the same line\n'
    for (const counts of [
      [1, 2, 2, 3],
      [1, 2, 3, 4],
      [2, 4, 1, 1],
      [1, 3, 1, 2],
    ]) {
      const pieces = counts.map((count) => line.repeat(count))
      expect(read(pieces)).toBe(pieces.join(''))
    }
  })

  test('pieces of a stream are plain text from the first one on that repeats nothing', () => {
    expect(read(['a', 'ab', 'abc', 'abcd', 'e', 'a', 'ab'])).toBe('abcdeaab')
    expect(read(['a', 'ab', 'abc', 'abcd', 'abcd', 'abcde'])).toBe('abcde')
  })

  test.each([
    [['x'.repeat(31), `${'x'.repeat(31)}abc`], 'joined'],
    [[`${'x'.repeat(29)}abc`, `${'x'.repeat(29)}abcd`], 'read once'],
    [['abcd', 'abcdef', 'abcdefghijklmno'], 'joined'],
    [['abcd', 'abcdef', 'abcdefghijklmnop'], 'read once'],
    [['a', 'ab', 'abc', 'abcd'], 'read once'],
    [['a', 'ab', 'abc', 'abcc'], 'joined'],
  ] as const)('pieces of a stream %j are %s', (pieces, how) => {
    expect(read(pieces)).toBe(how === 'joined' ? pieces.join('') : pieces.at(-1))
  })
})
