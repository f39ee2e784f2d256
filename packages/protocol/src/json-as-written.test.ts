import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  parseAsWritten,
  parseLargeAsWritten,
  parseShown,
  unmarked,
  withMarkedNumbers,
} from './json-as-written.ts'

const number = fc.oneof(
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.tuple(fc.bigInt(), fc.bigInt({ min: 0n })).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(fc.integer(), fc.integer({ min: -500, max: 500 })).map(([whole, power]) => `${whole}e${power}`),
)

test('what is parsed to go on is printed as it was written', () => {
  fc.assert(
    fc.property(fc.array(number), (numbers) => {
      const text = `{"list":[${numbers.join(',')}],"__proto__":{"a":"b"}}`
      expect(JSON.stringify(parseAsWritten(text))).toBe(text)
    }),
  )
})

test('what is shown is the number itself, or its digits where a float says another one', () => {
  fc.assert(
    fc.property(fc.bigInt(), (whole) => {
      const shown = parseShown(String(whole))
      if (typeof shown === 'string') {
        expect(shown).toBe(String(whole))
        expect(Number.isSafeInteger(Number(whole))).toBe(false)
      } else expect(BigInt(Number(shown))).toBe(whole)
    }),
  )
  expect(parseShown('[1.0,0.1,1e3,-0.5,1e21,0,0.0]')).toEqual([1, 0.1, 1000, -0.5, 1e21, 0, 0])
  expect(parseShown('[0.10000000000000000001,1e400]')).toEqual(['0.10000000000000000001', '1e400'])
})

test('arguments and results in a body keep the text of each number, and other members are numbers', () => {
  fc.assert(
    fc.property(fc.array(number), (numbers) => {
      const list = `[${numbers.join(',')}]`
      const own = `{"input":{"a":${list}},"args":{"b":{"c":${list}}},"response":{"__proto__":${list}}}`
      expect(JSON.stringify(parseLargeAsWritten(own))).toBe(own)
      expect(unmarked(JSON.stringify(JSON.parse(withMarkedNumbers(own))))).toBe(own)
    }),
  )
  const body = parseLargeAsWritten('{"temperature":1.0,"n":1E1,"input":[{"top_p":0.50,"input":{"a":1.0}}]}')
  expect(body).toMatchObject({ temperature: 1, n: 10, input: [{ top_p: 0.5 }] })
  expect(JSON.stringify(body)).toBe('{"temperature":1,"n":10,"input":[{"top_p":0.5,"input":{"a":1.0}}]}')
})

test.each([
  ['parseAsWritten', parseAsWritten],
  ['parseLargeAsWritten', parseLargeAsWritten],
  ['withMarkedNumbers', withMarkedNumbers],
  ['parseShown', parseShown],
])('%s takes JSON that is nested beyond the stack for no JSON', (_name, parse) => {
  const deep = (levels: number) =>
    `{"input":{"a":${'['.repeat(levels)}1.0,12345678901234567${']'.repeat(levels)}}}`
  expect(() => parse(deep(500))).not.toThrow()
  expect(() => parse(deep(100_000))).toThrow(SyntaxError)
})
