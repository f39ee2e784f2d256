import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAsWritten, parseShown } from './json-as-written.ts'

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
