import { agentApi } from '@flotilla/protocol/agent-api'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import { meshAgentApi } from '@flotilla/protocol/mesh-agent-api'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { parseFirst } from './parse-first.ts'

/** More invalid members than arguments fit on a stack. */
const many = 150_000

const wrong = Array.from({ length: many }, () => 1)
const names = Object.fromEntries(wrong.map((one, at) => [`name-${at}`, one]))

/** A schema that counts the members that it validated. */
function watched() {
  const work = { judged: 0 }
  const member = z.custom<string>((value) => {
    work.judged++
    return typeof value === 'string'
  })
  return { member, work }
}

test.each([
  ['a list', (of: z.ZodType) => z.array(of), wrong],
  ['a list with a bound', (of: z.ZodType) => z.array(of).max(1_000_000), wrong],
  ['a record', (of: z.ZodType) => z.record(z.string(), of), names],
  ['one of two', (of: z.ZodType) => z.union([z.string(), z.array(of)]), wrong],
  ['what may be missing', (of: z.ZodType) => z.array(of).nullish().default(null), wrong],
  [
    'what is inside a member',
    (of: z.ZodType) => z.array(z.object({ a: z.array(of) })),
    [{ a: wrong }, { a: wrong }],
  ],
  ['what refers to itself', (of: z.ZodType) => z.lazy(() => z.array(of)), wrong],
])('a wrong member ends the judging of %s', (_what, make, value) => {
  const { member, work } = watched()
  const result = parseFirst(make(member), value)
  expect(result.success).toBe(false)
  expect(result.error?.issues.length).toBeLessThanOrEqual(64)
  expect(work.judged).toBeLessThanOrEqual(128)
})

test('an issue has the path within the whole value', () => {
  const value = [...Array.from({ length: 1000 }, () => 'x'), 1]
  expect(parseFirst(z.array(z.string()), value).error?.issues[0]?.path).toEqual([1000])
  const record = { ...Object.fromEntries(value.slice(0, 1000).map((x, at) => [`n${at}`, x])), last: [1] }
  expect(parseFirst(z.record(z.string(), z.string()), record).error?.issues[0]?.path).toEqual(['last'])
})

test.each([
  ['over its maximum', (of: z.ZodType) => z.array(of).max(300)],
  ['over the second of its maxima', (of: z.ZodType) => z.array(of).max(900).max(300)],
  ['of another length', (of: z.ZodType) => z.array(of).length(300)],
  ['under its minimum', (of: z.ZodType) => z.array(of).min(500)],
  ['over a maximum behind a check', (of: z.ZodType) => z.array(of).refine(Array.isArray).max(300)],
])('a list %s that has a wrong element too gives the issue of the plain schema', (_what, make) => {
  const value = Array.from({ length: 320 }, (_one, at) => (at === 53 ? 1 : 'x'))
  const issue = make(z.string()).safeParse(value).error?.issues[0]
  expect(issue).toBeDefined()
  expect(parseFirst(make(z.string()), value).error?.issues[0]).toEqual(issue)
})

test('any input gives the result and the first issue of the plain schema', () => {
  const make = () =>
    z.object({
      list: z.array(z.object({ a: z.number().default(7) })).max(300),
      record: z.record(z.string(), z.union([z.string(), z.array(z.number())])).optional(),
    })
  const ending = make()
  const alone = make()
  const member = fc.oneof(
    { weight: 99, arbitrary: fc.constantFrom({}, { a: 1 }) },
    { weight: 1, arbitrary: fc.constant({ a: 'x' }) },
  )
  const value = fc.record(
    {
      list: fc.array(member, { maxLength: 320, size: 'max' }),
      record: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.integer())), {
        maxKeys: 200,
        size: 'max',
      }),
    },
    { requiredKeys: ['list'] },
  )
  fc.assert(
    fc.property(value, (one) => {
      const [first, all] = [parseFirst(ending, one), alone.safeParse(one)]
      expect(first.success).toBe(all.success)
      expect(first.data).toEqual(all.data)
      expect(first.error?.issues[0]).toEqual(all.error?.issues[0])
    }),
    { numRuns: 200 },
  )
})

test.each([
  ['messages', chatCompletionRequestSchema, { model: 'm', messages: wrong }],
  [
    'parts of a message',
    chatCompletionRequestSchema,
    { model: 'm', messages: [{ role: 'user', content: wrong }] },
  ],
  ['tools', chatCompletionRequestSchema, { model: 'm', messages: [], tools: wrong }],
  ['headers', meshAgentApi.httpRequest.request, { url: 'https://a.test', headers: names }],
  ['outputs of tools', agentApi.result.response, { state: 'finished', result: { tool_outputs: wrong } }],
  ['fields', jsonObjectSchema, Object.fromEntries(Object.keys(names).map((name) => [name, undefined]))],
])('%s of the wrong kind end the judging at an API', (_what, schema, value) => {
  const result = parseFirst(schema, value)
  expect(result.success).toBe(false)
  const count = (issues: readonly z.core.$ZodIssue[]): number =>
    issues.reduce(
      (sum, one) => sum + 1 + ('errors' in one ? one.errors.reduce((of, list) => of + count(list), 0) : 0),
      0,
    )
  expect(count(result.error?.issues ?? [])).toBeLessThanOrEqual(200)
})
