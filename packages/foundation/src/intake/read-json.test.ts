import { jsonLimits } from '@flotilla/protocol/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson, readJsonBody, readJsonExactly, readJsonQuietly } from './read-json.ts'

const bounds = { ...jsonLimits.body, nodesMax: 100 }

test('a value is read from bytes and from text', () => {
  expect(readJson(Buffer.from('{"a":[1,"ü"]}'), bounds)).toEqual({ a: [1, 'ü'] })
  expect(readJson('{"a":[1,"ü"]}', bounds)).toEqual({ a: [1, 'ü'] })
  expect(readJson(Buffer.from('\uFEFF1'), bounds)).toBe(1)
})

test.each([
  ['no JSON', '{"a":', 'bad-json'],
  ['nothing', '', 'bad-json'],
  ['more values than the bound', `[${'1,'.repeat(200)}1]`, 'body-too-large'],
  ['more values than the bound, and no JSON behind them', `[${'1,'.repeat(200)}`, 'body-too-large'],
])('%s is a Problem, and quietly nothing', (_what, text, code) => {
  expect(() => readJson(text, bounds)).toThrow(expect.objectContaining({ code }))
  expect(() => readJsonBody(Buffer.from(text), bounds)).toThrow(expect.objectContaining({ code }))
  expect(readJsonQuietly(text, bounds)).toBeUndefined()
})

test('bytes that are not UTF-8 are rejected as JSON', () => {
  expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]), bounds)).toThrow(
    expect.objectContaining({ code: 'bad-json' }),
  )
})

test.each([
  '{"__proto__":{"x":1}}',
  '{"\\u005f_proto__":{"x":1}}',
  '[{"a":{"__proto__":1}}]',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"\\u0063onstructor":{"pro\\u0074otype":1}}',
])('a body that reaches a prototype is refused: %s', (text) => {
  expect(() => readJsonBody(Buffer.from(text), bounds)).toThrow(
    expect.objectContaining({ code: 'bad-request' }),
  )
})

test.each(['{"proto":"__proto__"}', '{"constructor":"a"}', '{"\\u0061":1}', '{"prototype":{}}'])(
  'a body that only looks so is taken: %s',
  (text) => {
    expect(readJsonBody(Buffer.from(text), bounds)).toEqual(JSON.parse(text))
  },
)

test('integers that a float cannot represent are returned as digits, and nothing else changes', () => {
  const text =
    '{"most":18446744073709551615,"less":-9007199254740993,"fits":9007199254740991,"wide":1e300,"said":"18446744073709551615"}'
  expect(readJsonExactly(text, jsonLimits.serverReply)).toEqual({
    most: '18446744073709551615',
    less: '-9007199254740993',
    fits: 9007199254740991,
    wide: 1e300,
    said: '18446744073709551615',
  })
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (whole) => {
      const said = JSON.stringify(readJsonExactly(String(whole), jsonLimits.serverReply))
      expect(BigInt(said.replaceAll('"', ''))).toBe(whole)
    }),
  )
})
