import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonLimits } from '@flotilla/protocol/limits'
import type { JsonBounds } from '@flotilla/protocol/limits'
import { measureJson } from './measure-json.ts'

const boundless: JsonBounds = {
  nodesMax: Number.POSITIVE_INFINITY,
  membersMax: Number.POSITIVE_INFINITY,
  depthMax: Number.POSITIVE_INFINITY,
  nameMaxBytes: Number.POSITIVE_INFINITY,
  numberMaxBytes: Number.POSITIVE_INFINITY,
}

const measure = (text: string, bounds = boundless) => measureJson(Buffer.from(text), bounds)

/** Counts the parts of a parsed value. */
function count(value: unknown): { nodes: number; members: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { nodes: 1, members: 0, depth: 0 }
  const inner = Object.values(value).map(count)
  return {
    nodes: 1 + inner.reduce((sum, one) => sum + one.nodes, 0),
    members: (Array.isArray(value) ? 0 : inner.length) + inner.reduce((sum, one) => sum + one.members, 0),
    depth: 1 + Math.max(0, ...inner.map((one) => one.depth)),
  }
}

/** Wraps bytes and counts how often they are read. */
function counted(bytes: Uint8Array) {
  const work = { steps: 0 }
  const watched = new Proxy(bytes, {
    get(target, key) {
      if (key === 'length') return target.length
      if (key === 'indexOf') {
        return (byte: number, from: number) => {
          const found = target.indexOf(byte, from)
          work.steps += (found === -1 ? target.length : found + 1) - Math.min(from, target.length)
          return found
        }
      }
      work.steps++
      return target[Number(key)]
    },
  })
  return { watched, work }
}

/** JSON with all kinds of whitespace, unnecessary escapes, and brackets in texts. */
const awkwardText = fc
  .tuple(
    fc.jsonValue({
      maxDepth: 8,
      stringUnit: fc.constantFrom('"', '\\', '{', ']', ':', ',', 'z', '€', '\u{1F600}', '\n'),
    }),
    fc.constantFrom(undefined, 1, '\t'),
  )
  .map(([value, space]) => ({ value, text: JSON.stringify(value, null, space).replaceAll('z', '\\u007a') }))

test('measuring counts what JSON.parse creates, whatever texts and whitespace contain', () => {
  fc.assert(
    fc.property(awkwardText, ({ text }) => {
      const seen = measure(text)
      expect({ nodes: seen.nodes, members: seen.members, depth: seen.depth }).toEqual(count(JSON.parse(text)))
      expect(seen.fault).toBeNull()
    }),
    { numRuns: 2000 },
  )
})

test('repeated names are counted each time', () => {
  expect(measure('{"a":1,"a":2,"a":{"a":3}}')).toMatchObject({ nodes: 5, members: 4, depth: 2 })
})

test('measuring never throws and reads each byte at most three times', () => {
  const pieces = fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '\\\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '9',
    'x',
    ' ',
    '\u00e9',
    '"aaaa"',
  )
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
    fc.array(pieces, { maxLength: 2000 }).map((parts) => Buffer.from(parts.join(''))),
    fc
      .tuple(pieces, fc.integer({ min: 1, max: 4000 }))
      .map(([part, times]) => Buffer.from(`["${part.repeat(times)}`)),
  )
  fc.assert(
    fc.property(noise, (bytes) => {
      const { watched, work } = counted(bytes)
      measureJson(watched, boundless)
      expect(work.steps).toBeLessThanOrEqual(3 * bytes.length + 3)
    }),
    { numRuns: 3000 },
  )
})

test('measuring invalid JSON counts at least what a parser created before the fault', () => {
  fc.assert(
    fc.property(awkwardText, fc.integer({ min: 0, max: 1000 }), ({ text }, keep) => {
      const cut = Buffer.from(text).subarray(0, keep)
      const seen = measureJson(cut, boundless)
      const whole = measure(text)
      expect(seen.nodes).toBeLessThanOrEqual(whole.nodes + 1)
      expect(seen.members).toBeLessThanOrEqual(whole.members)
      const longer = measureJson(Buffer.concat([cut, Buffer.from(' }]"\\:,,[{ nonsense')]), boundless)
      expect(longer.members).toBeGreaterThanOrEqual(seen.members)
      expect(longer.depth).toBeGreaterThanOrEqual(seen.depth)
    }),
  )
})

test.each([
  {
    what: 'values',
    text: `[${'1,'.repeat(300)}1]`,
    bound: { nodesMax: 301 },
    fault: 'has more than 301 values',
  },
  {
    what: 'names',
    text: `{${'"a":1,'.repeat(300)}"a":1}`,
    bound: { membersMax: 300 },
    fault: 'has more than 300 names in its objects',
  },
  { what: 'levels', text: '['.repeat(65), bound: { depthMax: 64 }, fault: 'is nested deeper than 64 levels' },
  {
    what: 'a name',
    text: `{"${'n'.repeat(65)}":1}`,
    bound: { nameMaxBytes: 64 },
    fault: 'has a name longer than 64 bytes',
  },
  {
    what: 'a number',
    text: `[${'9'.repeat(65)}]`,
    bound: { numberMaxBytes: 64 },
    fault: 'has a number longer than 64 bytes',
  },
])(
  'measureJson tells which bound is passed, and takes what is just at it: $what',
  ({ text, bound, fault }) => {
    expect(measure(text, { ...boundless, ...bound }).fault).toBe(fault)
    const [name, most] = Object.entries(bound)[0] ?? ['', 0]
    expect(measure(text, { ...boundless, [name]: most + 1 }).fault).toBeNull()
  },
)

test('measuring stops at the first value above the limit', () => {
  const bytes = Buffer.from(`{"messages":[${'1,'.repeat(2_000_000)}1]}`)
  const { watched, work } = counted(bytes)
  expect(measureJson(watched, jsonLimits.modelBody).fault).toContain('values')
  expect(work.steps).toBeLessThan(4 * jsonLimits.modelBody.nodesMax)
})

test('a name that could reach a prototype is found, however it is written', () => {
  for (const text of ['{"__proto__":1}', '{"\\u005f_proto__":1}', '[{"constructor" :{}}]']) {
    expect(measure(text).hasOddName, text).toBe(true)
  }
  expect(measure('{"proto":"__proto__","a":["constructor"]}').hasOddName).toBe(false)
})
