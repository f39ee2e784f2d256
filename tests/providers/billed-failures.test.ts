import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { named } from './native-events.ts'

const model = 'openai/gpt-5.1-codex'
const usage = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 500,
  output_tokens_details: { reasoning_tokens: 0 },
}
/** The price of that usage at 3 and 15 US dollars per million tokens, billionths of a US dollar. */
const costNano = 1000 * 3000 + 500 * 15_000
const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5.1-codex' }
const error = { code: 'server_error', message: 'out of order' }
/** An error for which the call is sent again, and which is usually no part of an answer. */
const overloaded = { code: 'server_is_overloaded', message: 'Our servers are currently overloaded.' }
const created = named({ type: 'response.created', response: { ...head, status: 'in_progress', output: [] } })
const said = named({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: 'Hello',
})
const last = (type: string, more: object): string =>
  named({ type, response: { ...head, output: [], usage, ...more } })

/** Ends of a response that is no answer, each with the usage that the provider bills. */
const failures = [
  ['a failed one', last('response.failed', { status: 'failed', error })],
  [
    'one whose error comes before it',
    named({ type: 'error', ...error, param: null }) + last('response.failed', { status: 'failed', error }),
  ],
  ['a failed one without an error', last('response.failed', { status: 'failed', error: null })],
  ['a cancelled one', last('response.cancelled', { status: 'cancelled' })],
  ['a completed one of the status failed', last('response.completed', { status: 'failed', error })],
  ['a completed one of the status cancelled', last('response.completed', { status: 'cancelled' })],
  ['an incomplete one with an error', last('response.incomplete', { status: 'incomplete', error })],
  [
    'an incomplete one whose reason is an error',
    last('response.incomplete', { status: 'incomplete', incomplete_details: { reason: 'error' } }),
  ],
  ['an overloaded one', last('response.failed', { status: 'failed', error: overloaded })],
  [
    'an overloaded one without events',
    JSON.stringify({ ...head, status: 'failed', error: overloaded, output: [], usage }),
  ],
  ['one without events', JSON.stringify({ ...head, status: 'failed', error, output: [], usage })],
  ['a cancelled one without events', JSON.stringify({ ...head, status: 'cancelled', output: [], usage })],
] as const

describe('a failed response is booked by the usage that it reports', () => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    gateway = await startLlmGateway('responses', model, { dailyUsd: 1000 })
  })
  afterAll(() => gateway.close())
  beforeEach(() => gateway.newKey())

  const bodies = {
    chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'hi' }] } },
    responses: { path: '/v1/responses', body: { input: 'hi' } },
  } as const

  async function costOf(wire: string, api: keyof typeof bodies, stream: boolean) {
    const before = gateway.spentNano()
    const calls = gateway.upstream.calls.length
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, {
        'content-type': wire.startsWith('{') ? 'application/json' : 'text/event-stream',
      })
      response.end(wire)
    })
    const { path, body } = bodies[api]
    const reply = await fetch(`${gateway.rootUrl}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, ...body }),
    })
    const text = await reply.text()
    return {
      text,
      status: reply.status,
      calls: gateway.upstream.calls.length - calls,
      spent: gateway.spentNano() - before,
    }
  }

  describe.each(['chat', 'responses'] as const)('by the API %s', (api) => {
    test.each(failures)('a failed response costs what it reports, where it is %s', async (_what, end) => {
      for (const stream of [true, false]) {
        const isWhole = end.startsWith('{')
        // A whole answer of the other form is the business of the adapter.
        if (api === 'responses' && isWhole === stream) continue
        // A program that reads the events itself gets a cut off response as the provider ended it.
        if (api === 'responses' && end.includes('incomplete_details')) continue
        const { text, status, calls, spent } = await costOf(isWhole ? end : created + end, api, stream)
        expect(text).toMatch(/"(?:code|type)":"/)
        expect(status).toBeGreaterThanOrEqual(400)
        expect(calls).toBeGreaterThan(0)
        expect(spent).toBe(calls * costNano)
      }
    })
  })

  test.each(failures.filter(([, end]) => !end.startsWith('{')))(
    'a response that fails behind its first words costs what it reports, where it is %s',
    async (_what, end) => {
      for (const api of ['chat', 'responses'] as const) {
        const { text, spent } = await costOf(created + said + end, api, true)
        expect(text).toContain('Hello')
        expect(text).toMatch(/"error"|response\.(?:failed|cancelled|completed|incomplete)/)
        expect(spent).toBe(costNano)
      }
    },
  )
})
