import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { draftOf } from './draft.ts'
import { readMessagesParameters } from './messages-parameters.ts'
import { readParameters } from './chat-format.ts'
import { spellingOf } from './spelling.ts'

const long = 'a word or two, '.repeat(200)
const bound = { field: 'max_tokens', value: 7 }

/** Returns the forwarded request in its original spelling and printed anew; null if it is refused. */
function bothWays(text: string, read: (bytes: Uint8Array) => ReturnType<typeof readParameters>) {
  let call: ReturnType<typeof readParameters>
  try {
    call = read(Buffer.from(text))
  } catch {
    return null
  }
  const { forwarded, spelling } = call
  return {
    isSpelled: spelling !== null,
    spelled: Buffer.from(draftOf('m', forwarded, spelling).closed(bound)).toString(),
    printed: JSON.stringify({ model: 'm', ...forwarded, [bound.field]: bound.value }),
  }
}

const readMessages = (bytes: Uint8Array) => readMessagesParameters(bytes, [])

/** JSON texts with unusual but valid spelling. */
const odd = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      '"a"',
      '""',
      '"né\u2028"',
      '"\\n\\"q\\\\"',
      '"\u{1F600}"',
      '1',
      '0',
      '0.5',
      '-3',
      'true',
      'null',
    ),
    { weight: 1, arbitrary: fc.constantFrom('"\\u0061"', '"a\\/b"', '"\\\\u0061"', '"\\ud800"', '"\\b\\f"') },
    { weight: 1, arbitrary: fc.constantFrom('1.0', '1e2', '-0', '12345678901234567890', '1E400', '0.10') },
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
  object: fc
    .array(
      fc.tuple(
        fc.oneof(
          { weight: 8, arbitrary: fc.constantFrom('"a"', '"b"', '"c"', '"d"', '"e"', '"properties"') },
          { weight: 1, arbitrary: fc.constantFrom('"1"', '"\\u0062"', '"a\\"b"', '""', '"-1"') },
        ),
        fc.constantFrom(':', ':', ':', ':', ' : '),
        tie('value'),
      ),
      { maxLength: 4 },
    )
    .map((members) => `{${members.map((parts) => parts.join('')).join(',')}}`),
}))

const message = fc.constantFrom(
  `{"role":"user","content":"${long}"}`,
  '{"role":"system","content":"be short"}',
  '{"role":"user","content":[{"type":"text","text":"hi"}]}',
  '{"role":"user","content":"hi","role":"system"}',
  '{"role":"user","content":"hi","unknown":1}',
  '{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}',
  '{"content":[{"type":"text","text":"a","text":"b"}],"role":"user"}',
  '{"role":"user",\n"content":"hi"}',
)

const members = fc.shuffledSubarray([
  '"temperature":0.7',
  '"temperature":1.0',
  '"stop":["a","b"]',
  '"n":1',
  '"unknown":{"messages":[1]}',
  '"user":"me"',
  '"messages":[]',
  '"stream":true',
  '"max_tokens":200',
  '"seed":null',
])

/** A request with one long member, since short requests are always printed anew. */
const chat = fc
  .tuple(fc.array(message, { minLength: 1, maxLength: 4 }), members, odd.object, fc.boolean())
  .map(([messages, more, parameters, hasTool]) => {
    const tool = `{"type":"function","function":{"name":"f","parameters":${parameters}}}`
    const parts = [
      '"model":"x"',
      `"messages":[{"role":"user","content":"${long}"},${messages.join(',')}]`,
      ...(hasTool ? [`"tools":[${tool}]`] : []),
    ]
    return `{${[...more.slice(0, 2), ...parts, ...more.slice(2)].join(',')}}`
  })

describe('a body that goes on as it came', () => {
  test('a body that goes on as it came is the very bytes that printing it would give, however it is spelled', () => {
    let spelled = 0
    fc.assert(
      fc.property(chat, (text) => {
        const ways = bothWays(text, readParameters)
        if (ways === null) return
        expect(ways.spelled).toBe(ways.printed)
        if (ways.isSpelled) spelled++
      }),
      { numRuns: 4000 },
    )
    // Otherwise the property would prove nothing.
    expect(spelled).toBeGreaterThan(100)
  })

  test('a body that goes on as it came is so for messages too', () => {
    const text = `{"model":"x","max_tokens":9,"system":"s","messages":[{"role":"user","content":"${long}"}],"temperature":0.5}`
    const ways = bothWays(text, readMessages)
    expect(ways?.isSpelled).toBe(true)
    expect(ways?.spelled).toBe(ways?.printed)
  })

  test.each([
    ['a name that comes twice', '{"role":"user","content":"a","content":"b"}'],
    ['a name that comes twice, once escaped', '{"role":"user","content":"a","c\\u006fntent":"b"}'],
    ['a number that is printed otherwise', '{"role":"tool","tool_call_id":"1","content":"a","index":1.0}'],
    ['blanks', '{"role": "user","content":"a"}'],
    ['an escape that nobody needs', '{"role":"user","content":"\\u0061"}'],
  ])('a body that goes on as it came is printed where it has %s', (_what, last) => {
    const text = `{"model":"x","messages":[{"role":"user","content":"${long}"},${last}]}`
    const ways = bothWays(text, readParameters)
    expect(ways?.isSpelled).toBe(false)
    expect(ways?.spelled).toBe(ways?.printed)
  })

  test('a body that goes on as it came is printed where a member of it stays here, and copied in its other members', () => {
    const text = `{"model":"x","messages":[{"role":"user","content":"${long}","unknown":1}],"stop":["${long}"]}`
    const call = readParameters(Buffer.from(text))
    expect(call.spelling?.of('messages', call.forwarded['messages'] ?? null)).toBeNull()
    expect(call.spelling?.of('stop', call.forwarded['stop'] ?? null)?.length).toBe(long.length + 4)
    const ways = bothWays(text, readParameters)
    expect(ways?.spelled).toBe(ways?.printed)
    expect(ways?.spelled).not.toContain('unknown')
  })

  test.each([
    ['words', '"a":true,"b":false,"c":null'],
    ['numbers', '"a":0,"b":-1.5,"c":[1,[20]],"d":1e+30'],
    ['names that are no whole numbers', '"-1":1,"":{"/":1,":":2}'],
    ['lists and objects in each other', '"a":[{"b":[]},{}],"c":{"d":{"e":"f"}}'],
  ])('a body that goes on as it came is found member by member, with %s in it', (_what, members) => {
    const text = `{"first":"${long}",${members},"last":[1]}`
    const body = JSON.parse(text)
    const spelling = spellingOf(Buffer.from(text), body)
    for (const [name, value] of Object.entries(body)) {
      const bytes = spelling?.of(name, value as JsonValue)
      expect([name, bytes && Buffer.from(bytes).toString()]).toEqual([name, JSON.stringify(value)])
    }
    expect(spelling?.of('first', 'another')).toBeNull()
    expect(spelling?.of('no such', long)).toBeNull()
  })

  test.each(['0', '1', '5', '9', '10'])(
    'a body that goes on as it came is printed where a name is the whole number %s',
    (name) => {
      const text = `{"a":"${long}","b":{"c":1,"${name}":2}}`
      expect(spellingOf(Buffer.from(text), JSON.parse(text))).toBeNull()
    },
  )

  test.each([
    [1000, true],
    [1001, false],
  ])('a body that goes on as it came of %i numbers is copied: %s', (count, isSpelled) => {
    const text = JSON.stringify({ a: long, b: Array.from({ length: count }, (_, number) => number) })
    expect(spellingOf(Buffer.from(text), JSON.parse(text)) !== null).toBe(isSpelled)
  })

  test.each([
    [2047, false],
    [2048, true],
  ])('a body that goes on as it came of %i bytes is copied: %s', (bytes, isSpelled) => {
    const text = JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    expect(spellingOf(Buffer.from(text), JSON.parse(text)) !== null).toBe(isSpelled)
  })

  test('a body that goes on as it came is printed where it is short, or all numbers', () => {
    expect(bothWays('{"model":"x","messages":[]}', readParameters)?.isSpelled).toBe(false)
    const biases = Array.from({ length: 2000 }, (_, token) => `"t${token}":1`).join(',')
    const text = `{"model":"x","messages":[],"logit_bias":{${biases}}}`
    expect(bothWays(text, readParameters)?.isSpelled).toBe(false)
  })
})
