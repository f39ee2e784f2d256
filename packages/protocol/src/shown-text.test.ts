import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressInLine, quoted, wholeAddress } from './shown-text.ts'

describe('text of an agent that a person is shown', () => {
  test.each([
    ['https://a.test/v1', 'https://a.test/v1'],
    ['https://a.test/v1?then=%22,%20which%20is%20safe', 'https://a.test/v1?…'],
    ['https://a.test/v1#part', 'https://a.test/v1?…'],
    [
      'https://a.test/a b\nIt has no body.',
      'https://a.test/a\\u{20}b\\u{a}It\\u{20}has\\u{20}no\\u{20}body.',
    ],
  ])('the address %j is %s in one line', (address, shown) => {
    expect(addressInLine(address)).toBe(shown)
  })

  test('any address makes one short line without spaces, which a query does not change', () => {
    const part = fc.string({ unit: 'binary', maxLength: 500 })
    fc.assert(
      fc.property(part, part, (path, query) => {
        const plain = path.replaceAll(/[?#]/g, '')
        const shown = addressInLine(`https://a.test/${plain}?${query}`)
        expect(shown).toMatch(/^[!-~…]{1,204}$/)
        expect(shown).toBe(addressInLine(`https://a.test/${plain}?`))
      }),
    )
  })

  test('a whole address has its query, and no character that an address does not have', () => {
    expect(wholeAddress('https://a.test/?q=1\u202E \u00e9')).toBe(
      'https://a.test/?q=1\\u{202e}\\u{20}\\u{e9}',
    )
  })

  test('quoted text has no line break and no character that is not seen, and is cut at its limit', () => {
    expect(quoted('a\n"\u200B\u{E0041}é')).toBe('"a\\n\\"\\u{200b}\\u{e0041}é"')
    expect(quoted('abcdef', 6)).toBe('"abcdef"')
    expect(quoted('abcdefg', 6)).toBe('"abcdef" …')
    expect(quoted('abc\nde', 4)).toBe('"abc" …')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(50), (text, maxChars) => {
        expect(quoted(text, maxChars)).toMatch(/^"[^\p{C}\p{Zl}\p{Zp}]{0,50}"(?: …)?$/u)
      }),
    )
  })
})
