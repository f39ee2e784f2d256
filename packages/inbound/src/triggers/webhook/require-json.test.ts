import { jsonDepthMax } from '@flotilla/protocol/json-value'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requireJson } from './require-json.ts'

const outcome = (work: () => unknown): string => {
  try {
    work()
    return 'taken'
  } catch (error) {
    return error instanceof SyntaxError ? 'refused' : String(error)
  }
}
/** Texts that the two parsers judge differently. */
const disputed = (...texts: string[]): string[] =>
  texts.filter((text) => outcome(() => requireJson(text)) !== outcome(() => JSON.parse(text)))

describe('the JSON check agrees with JSON.parse', () => {
  test.each(
    '1|-|-0|01|1.|.5|1.5e3|1e|1e+|1E-2|+1|NaN|true|tru|truex|null1|nul|"a|"a"|"\\x"|"\\u12G4"|"\\u12f4"|"\\|"\t"|"\u007f"|[|[]|[,]|[1,]|[1 2]|[1]]|]|{|{}|{,}|{"a"}|{"a":}|{"a":1,}|{"a":1 "b":2}|{a:1}|{1:2}|{"a":1]|[1}|{"a":[{}]}|[[],{}]| | [ ] |1 1|\u00a01|\ufeff1|//|{"a":1}{}'.split(
      '|',
    ),
  )('the JSON check agrees with JSON.parse on %j', (text) => {
    expect(disputed(text, ` ${text}\n`)).toEqual([])
  })

  test('the JSON check agrees with JSON.parse on any cut, doubled or changed JSON', () => {
    const characters = fc.constantFrom(...'{}[]",:\\ 01-.eEtfnu\n\u0001x'.split(''))
    fc.assert(
      fc.property(fc.json(), fc.tuple(fc.nat(), fc.nat()), characters, (json, [at, to], character) => {
        const [from, until] = [at % (json.length + 1), to % (json.length + 1)]
        const changed = [
          json.slice(0, from),
          json.slice(0, from) + character + json.slice(from),
          json.slice(0, from) + character + json.slice(from + 1),
          json.slice(0, from) + json.slice(until),
        ]
        expect(disputed(json, ...changed)).toEqual([])
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(fc.array(characters, { maxLength: 12 }), (few) => {
        expect(disputed(few.join(''))).toEqual([])
      }),
      { numRuns: 5000 },
    )
  })
})

test('nesting is counted, and reported differently from invalid JSON', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  expect(outcome(() => requireJson(nested(jsonDepthMax)))).toBe('taken')
  expect(() => requireJson(nested(jsonDepthMax + 1))).toThrow(
    expect.objectContaining({ code: 'bad-request' }),
  )
})
