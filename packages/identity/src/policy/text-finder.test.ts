import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTextFinder } from './text-finder.ts'

const found = (texts: readonly string[], text: string) => [...createTextFinder(texts)(text)].toSorted()

describe('the search for many texts', () => {
  test.each([
    [['he', 'she', 'his', 'hers'], 'ushers', ['he', 'hers', 'she']],
    [['abcd', 'bc'], 'abce', ['bc']],
    [['a', 'aa', 'aaa'], 'aa', ['a', 'aa']],
    [['/x1/', '/x10/'], '/v1/x10/items', ['/x10/']],
    [['', 'b'], 'abc', ['b']],
    [['é'], 'cafés', ['é']],
    [['a'], '', []],
    [[], 'a', []],
  ])('of %j in %s finds %j', (texts, text, expected) => {
    expect(found(texts, text)).toEqual(expected)
  })

  test('finds exactly the texts that occur', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', '/', '\u{1F600}'), { maxLength: 8 })
      .map((all) => all.join(''))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), fc.array(text, { maxLength: 4 }), (texts, parts) => {
        const whole = parts.join('')
        const expected = [...new Set(texts)].filter((one) => one !== '' && whole.includes(one)).toSorted()
        expect(found(texts, whole)).toEqual(expected)
      }),
      { numRuns: 2000 },
    )
  })
})
