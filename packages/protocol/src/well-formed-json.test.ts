import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonWithoutZeros, wellFormedJson } from './well-formed-json.ts'

const pieces = fc.constantFrom(
  '\\',
  '\\\\',
  '\\"',
  '\\n',
  'u',
  'ud83d',
  'ude00',
  '\\ud83d',
  '\\uD83D',
  '\\ude00',
  '\\uDE00',
  '\\u0000',
  '\\u005c',
  'a',
  '\u{1F600}',
  '\ud83d',
  '\ude00',
)
/** The inside of a JSON text, with halves of surrogate pairs as characters and as escapes. */
const insides = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(''))

function parsed(text: string): string | null {
  try {
    return JSON.parse(text) as string
  } catch {
    return null
  }
}

describe('a JSON text without halves of surrogate pairs', () => {
  test('has a well-formed value with the same characters otherwise, however the halves were written', () => {
    fc.assert(
      fc.property(insides, (inside) => {
        const before = parsed(`"${inside.toWellFormed()}"`)
        const text = wellFormedJson(`"${inside}"`)
        if (before !== null) expect(parsed(text)).toBe(before.toWellFormed())
        expect(text.isWellFormed()).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    [String.raw`{"q":"\\ud83d\ude00"}`, String.raw`{"q":"\\ud83d\ufffd"}`],
    [String.raw`{"q":"\ud83d\\ude00"}`, String.raw`{"q":"\ufffd\\ude00"}`],
    [String.raw`{"q":"\ud83d\ude00"}`, String.raw`{"q":"\ud83d\ude00"}`],
    [String.raw`{"q":"\ud83d\ud83d\ude00"}`, String.raw`{"q":"\ufffd\ud83d\ude00"}`],
    ['{"q":90071992547409931}', '{"q":90071992547409931}'],
  ])('of %s is %s', (text, expected) => {
    expect(wellFormedJson(text)).toBe(expected)
  })

  test('a JSON text loses its zero characters and nothing else', () => {
    fc.assert(
      fc.property(insides, (inside) => {
        const before = parsed(`"${inside}"`)
        if (before === null) return
        expect(parsed(jsonWithoutZeros(`"${inside}"`))).toBe(before.replaceAll('\0', ''))
      }),
      { numRuns: 2000 },
    )
  })
})
