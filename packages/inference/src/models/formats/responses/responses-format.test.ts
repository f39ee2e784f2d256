import { expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { createSseParser, freshProgress, wholeUsage } from '../sse-parser.ts'
import { responsesFormat } from './responses-format.ts'
import { isForeignReasoning } from './response-reasoning.ts'
import { readResponseTools } from './response-tools.ts'

const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 27,
}
const eventOf = (type: string, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const rules = { wantsUsage: true, costUsdOf: () => 0, onDone: () => {} }

test.each(['response.completed', 'response.incomplete', 'response.failed'])(
  'a stream of OpenAI’s own ends with %s, which has the usage, and passes unchanged',
  (last) => {
    const text =
      eventOf('response.created', { response: { id: 'resp_1', usage: null } }) +
      eventOf('response.output_text.delta', { delta: 'the "usage" of words' }) +
      eventOf(last, { response: { id: 'resp_1', usage } })
    const progress = freshProgress()
    const parser = createSseParser(progress, rules, responsesFormat.createStreamForm?.())
    const passed = Buffer.concat(
      [text.slice(0, 100), text.slice(100)].map((piece) =>
        Buffer.from(parser.take(Buffer.from(piece)) ?? ''),
      ),
    )
    expect(passed.toString()).toBe(text)
    expect(wholeUsage(progress)).toMatchObject({ promptTokens: 20, cachedTokens: 8, completionTokens: 7 })
  },
)

test.each([
  ['events have no names', (text: string) => text.replaceAll(/^event: .*\n/gm, '')],
  ['lines end with CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
  ['names have no blank before them', (text: string) => text.replaceAll(/^(event|data): /gm, '$1:')],
  [
    'the data comes before the name',
    (text: string) => text.replaceAll(/^(event: .*)\n(data: .*)\n/gm, '$2\n$1\n'),
  ],
])('the usage of a stream is read where %s', (_what, odd) => {
  const text = odd(
    eventOf('response.created', { response: { id: 'resp_1', usage: null } }) +
      eventOf('response.output_text.delta', { delta: '"type":"response.completed", "usage"' }) +
      eventOf('response.completed', { response: { id: 'resp_1', usage } }),
  )
  const progress = freshProgress()
  const parser = createSseParser(progress, rules, responsesFormat.createStreamForm?.())
  expect(Buffer.from(parser.take(Buffer.from(text)) ?? '').toString()).toBe(text)
  expect(wholeUsage(progress)).toMatchObject({ promptTokens: 20, completionTokens: 7 })
})

test('only an event with content, an error or a reason for the end is content', () => {
  const { saysNothing } = responsesFormat
  const message = (text: string) => ({ type: 'message', content: [{ type: 'output_text', text }] })
  const response = (status: string, output: object[]) => ({ object: 'response', status, output })
  expect([
    saysNothing({ type: 'response.created', response: {} }),
    saysNothing({ type: 'response.output_item.added', item: message('') }),
    saysNothing({ type: 'response.output_text.delta', delta: '' }),
    saysNothing({ type: 'response.completed', response: response('completed', []) }),
    saysNothing(response('completed', [message(''), { type: 'reasoning', summary: [] }])),
  ]).toEqual([true, true, true, true, true])
  expect([
    saysNothing({ type: 'response.output_item.added', item: { type: 'function_call' } }),
    saysNothing({ type: 'response.output_text.delta', delta: 'a' }),
    saysNothing({ type: 'response.incomplete', response: {} }),
    saysNothing(response('incomplete', [])),
    saysNothing(response('completed', [message('a')])),
    saysNothing(response('completed', [{ type: 'reasoning', summary: [], encrypted_content: 'g' }])),
  ]).toEqual([false, false, false, false, false, false])
})

test('an error of the provider within a stream is found in both events that report one', () => {
  expect(responsesFormat.errorIn?.({ type: 'error', code: 'rate_limit_exceeded', message: 'slow' })).toEqual({
    code: 'rate_limit_exceeded',
    message: 'slow',
  })
  const error = { code: 'server_error', message: 'broken' }
  expect(responsesFormat.errorIn?.({ type: 'response.failed', response: { error } })).toEqual(error)
  expect(responsesFormat.errorIn?.({ type: 'response.completed', response: { error: null } })).toBeUndefined()
})

test('an error of the mesh within a stream is an event for each family of clients', () => {
  const text = Buffer.from(responsesFormat.errorEvent(new Problem('upstream-failed'))).toString()
  expect(text.match(/^event: .*$/gm)).toEqual(['event: error', 'event: response.failed'])
  expect(text.match(/"code":"upstream-failed"/g)).toHaveLength(2)
})

test('tools get function names that are unique and at most 64 characters', () => {
  const tool = (name: string) => ({ type: 'function', name })
  const long = 'n'.repeat(60)
  const tools = readResponseTools([
    tool('a'),
    tool('a'),
    { type: 'namespace', name: long, tools: [tool('first'), tool('second')] },
  ])
  const names = tools.chatTools.map((one) => (one['function'] as { name: string }).name)
  expect(new Set(names).size).toBe(4)
  expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(64)
  expect(names.map((name) => tools.calledBy(name)?.name)).toEqual(['a', 'a', 'first', 'second'])
  expect(tools.chatNameOf('second', long)).toBe(names[3])
  expect(tools.chatNameOf('gone', 'other')).toBe('other__gone')
})

test('thousands of tools with names that become equal are renamed in few steps', () => {
  const names = Array.from(
    { length: 20_000 },
    (_, index) => `${'n'.repeat(60)}${index.toString(36).padStart(4, '0')}`,
  )
  const twice = [...names, ...names].map((name) => ({ type: 'function', name }))
  const { chatTools } = readResponseTools(twice)
  expect(new Set(chatTools.map((one) => (one['function'] as { name: string }).name)).size).toBe(40_000)
})

test('a tool that runs at a provider is refused where a call is translated', () => {
  expect(() => readResponseTools([{ type: 'web_search_20250305', name: 'web_search' }])).toThrow(
    'web_search_20250305',
  )
})

test('reasoning is part of the output and not counted beside it', () => {
  expect(
    responsesFormat.usageOf({ usage: { ...usage, output_tokens_details: { reasoning_tokens: 700 } } }),
  ).toMatchObject({
    completionTokens: 7,
  })
})

test('reasoning that OpenAI would look for among stored items is not sent to it', () => {
  const item = (encrypted: string | null) => ({
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    encrypted_content: encrypted,
  })
  expect([null, '', 'flotilla:thinking:c2ln', 'gAAAA'].map((text) => isForeignReasoning(item(text)))).toEqual(
    [true, true, true, false],
  )
})
