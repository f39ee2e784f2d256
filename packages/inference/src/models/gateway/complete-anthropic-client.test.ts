import Anthropic, { APIError, APIUserAbortError } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../tests/support/wire-upstream.ts'

const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Tells the weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}
const picture: Anthropic.ImageBlockParam = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
}

/** The same client with Anthropic's own wire format, passed through, and with others, translated. */
const cases: readonly { wire: WireKind; model: string; thinks: boolean; passes: boolean }[] = [
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5', thinks: true, passes: true },
  { wire: 'openai', model: 'deepseek/m', thinks: true, passes: false },
  { wire: 'google', model: 'google/gemini-2.5-flash', thinks: true, passes: false },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0', thinks: true, passes: false },
]

describe.each(cases)('the official Anthropic client at $model', ({ wire, model, passes }) => {
  let gateway: LlmGatewayUnderTest
  let client: Anthropic
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
    client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
  })
  afterAll(() => gateway.close())

  const say = (content: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) =>
    client.messages.create({
      model,
      max_tokens: 9000,
      messages: [{ role: 'user', content }],
      ...more,
    })

  test('the official Anthropic client gets a whole answer with its usage', async () => {
    const answer = await say('hi')
    expect(answer).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello there' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 30 },
    })
  })

  test('the official Anthropic client reads a stream to its end, and both ways cost the same', async () => {
    heedsLesson(88)
    const before = gateway.spentNano()
    await say('hi')
    const whole = gateway.spentNano() - before
    const stream = client.messages.stream({
      model,
      max_tokens: 9000,
      messages: [{ role: 'user', content: 'hi' }],
    })
    const final = await stream.finalMessage()
    expect(await stream.finalText()).toBe('Hello there')
    expect(final.usage).toMatchObject({ cache_read_input_tokens: 4, output_tokens: 30 })
    expect(final.stop_reason).toBe('end_turn')
    expect(gateway.spentNano() - before - whole).toBe(whole)
    expect(whole).toBeGreaterThan(0)
  })

  test('the official Anthropic client calls a tool in a stream and hands its result back', async () => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'weather' }]
    const called = await client.messages
      .stream({ model, max_tokens: 9000, messages, tools: [weather] })
      .finalMessage()
    const use = called.content.find((block) => block.type === 'tool_use')
    expect(called.stop_reason).toBe('tool_use')
    expect(use).toMatchObject({ name: 'get_weather', input: weatherCall.input })
    const answer = await say('', {
      tools: [weather],
      messages: [
        ...messages,
        { role: 'assistant', content: called.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: use?.id ?? '', content: [{ type: 'text', text: 'sunny' }] },
          ],
        },
      ],
    })
    expect(answer.content).toMatchObject([{ type: 'text', text: 'It says: sunny' }])
  })

  test('the official Anthropic client answers a search of its own with references to deferred tools', async () => {
    const search: Anthropic.Tool = { name: 'find_tools', input_schema: { type: 'object' } }
    await say('', {
      tools: [search, { ...weather, defer_loading: true }],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find_tools', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'tool_reference', tool_name: 'get_weather' }],
            },
          ],
        },
      ],
    })
    const sent = JSON.stringify(gateway.upstream.calls.at(-1)?.body)
    expect(sent.includes('"tool_reference"') && sent.includes('"defer_loading":true')).toBe(passes)
    expect(sent.includes('The tool get_weather is in the list of tools.')).toBe(!passes)
    expect(sent).toContain('Tells the weather')
  })

  test('the official Anthropic client sends a picture', async () => {
    await say('', { messages: [{ role: 'user', content: [picture, { type: 'text', text: 'hi' }] }] })
    expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('iVBORw0KGgo=')
  })

  test('the official Anthropic client gets thinking apart from the words, and may send it back', async () => {
    const thought = await client.messages
      .stream({
        model,
        max_tokens: 9000,
        thinking: { type: 'enabled', budget_tokens: 2000 },
        messages: [{ role: 'user', content: 'think' }],
      })
      .finalMessage()
    expect(thought.content).toMatchObject([
      { type: 'thinking', thinking: 'Two and two.' },
      { type: 'text', text: 'Four' },
    ])
    const again = await say('', {
      messages: [
        { role: 'user', content: 'think' },
        { role: 'assistant', content: thought.content },
        { role: 'user', content: 'hi' },
      ],
    })
    expect(again.content).toMatchObject([{ text: 'Hello there' }])
  })

  test.each([
    { words: 'status-400', status: 400, type: 'invalid_request_error', code: 'model-call-rejected' },
    { words: 'too-long', status: 400, type: 'invalid_request_error', code: 'prompt-too-long' },
    { words: 'status-401', status: 502, type: 'api_error', code: 'provider-refused' },
    { words: 'status-404', status: 404, type: 'not_found_error', code: 'model-unknown' },
    { words: 'status-429', status: 429, type: 'rate_limit_error', code: 'rate-limited' },
    { words: 'status-500', status: 502, type: 'api_error', code: 'upstream-failed' },
    { words: 'status-529', status: 529, type: 'overloaded_error', code: 'model-overloaded' },
  ])(
    'the official Anthropic client receives $words as $status $type',
    async ({ words, status, type, code }) => {
      const error = await say(words).catch((thrown: unknown) => thrown)
      gateway.newKey()
      expect(error).toBeInstanceOf(APIError)
      expect(error).toMatchObject({ status, type, errorCode: code })
      expect(JSON.stringify(error) + String(error)).not.toContain('sk-upstream-key')
      if (status === 429) expect((error as APIError).headers?.get('retry-after')).toBe('3')
      if (code === 'prompt-too-long') expect(String(error)).toContain('prompt is too long')
    },
  )

  test.each(['break', 'overload', 'stop'])(
    'a stream that fails midway is reported to the client as an error (%s)',
    async (words) => {
      const stream = client.messages.stream({
        model,
        max_tokens: 9000,
        messages: [{ role: 'user', content: words }],
      })
      await expect(stream.finalMessage()).rejects.toThrow(/\w/)
    },
  )

  test('the official Anthropic client leaves an answer that the gateway reads for a while, and then cuts off', async () => {
    const leaving = new AbortController()
    const call = client.messages
      .create(
        { model, max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'wait' }] },
        { signal: leaving.signal },
      )
      .catch((thrown: unknown) => thrown)
    await expect.poll(() => JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('wait')
    leaving.abort()
    expect(await call).toBeInstanceOf(APIUserAbortError)
    await gateway.upstream.calls.at(-1)?.closed
  })

  test('the official Anthropic client has only what is on the list sent on', async () => {
    heedsLesson(16)
    const unknown = {
      api_key: 'x',
      base_url: 'http://evil',
      mcp_servers: [],
      container: 'c',
      service_tier: 'auto',
    }
    await say('hi', { ...unknown, top_k: 5, metadata: { user_id: 'u' } } as never)
    const sent = gateway.upstream.calls.at(-1)
    const text = JSON.stringify(sent?.body)
    for (const name of Object.keys(unknown)) expect(text).not.toContain(`"${name}"`)
    if (passes) expect(sent?.body).toMatchObject({ top_k: 5, metadata: { user_id: 'u' } })
  })

  test('the official Anthropic client is refused a model that is not its own, and a tool that runs at the provider', async () => {
    heedsLesson(15)
    const other = await say('hi', { model: 'openai/dear' }).catch((thrown: unknown) => thrown)
    expect(other).toMatchObject({ status: 403, type: 'permission_error', errorCode: 'model-not-allowed' })
    const search = { type: 'web_search_20250305', name: 'web_search' } as const
    const tool = await say('hi', { tools: [search] }).catch((thrown: unknown) => thrown)
    expect(tool).toMatchObject({ status: 400, type: 'invalid_request_error' })
  })

  test('the official Anthropic client counts tokens for nothing', async () => {
    const before = gateway.spentNano()
    const count = await client.messages.countTokens({ model, messages: [{ role: 'user', content: 'hi' }] })
    expect(count.input_tokens).toBeGreaterThan(0)
    expect(gateway.spentNano()).toBe(before)
  })
})

describe('the gateway for an Anthropic client', () => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    gateway = await startLlmGateway('anthropic', 'anthropic/claude-haiku-4-5')
  })
  afterAll(() => gateway.close())

  test('the gateway for an Anthropic client passes the bytes of Anthropic’s stream as they are', async () => {
    const body = JSON.stringify({
      model: 'claude-haiku-4-5',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: 'plan' }],
    })
    const reply = await fetch(`${gateway.rootUrl}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'scout',
        'anthropic-version': '2023-06-01',
      },
      body,
    })
    const direct = await fetch(`${gateway.upstream.baseUrl}/messages`, { method: 'POST', body })
    expect(await reply.text()).toBe(await direct.text())
  })

  test('the gateway for an Anthropic client sends the key, the version and the features that are let through, and no others', async () => {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
    await client.beta.messages.create({
      model: 'claude-haiku-4-5',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      betas: ['interleaved-thinking-2025-05-14', 'mcp-client-2025-04-04', 'context-1m-2025-08-07'],
    })
    expect(gateway.upstream.calls.at(-1)?.headers).toMatchObject({
      'x-api-key': 'sk-upstream-key-0123456789',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'interleaved-thinking-2025-05-14',
    })
  })

  test('the gateway for an Anthropic client lists the models in its form, and one of them', async () => {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(['anthropic/claude-haiku-4-5'])
    expect(await client.models.retrieve('claude-haiku-4-5')).toMatchObject({
      type: 'model',
      id: 'anthropic/claude-haiku-4-5',
    })
    const error = await client.models.retrieve('claude-nothing').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 404, type: 'not_found_error' })
  })

  test('the gateway for an Anthropic client leaves out what another model thought before', async () => {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
    await client.messages.create({
      model: 'claude-haiku-4-5',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'mine', signature: 'c2lnbmVk' },
            { type: 'thinking', thinking: 'strange', signature: 'google-gemini-v1::c2ln' },
            { type: 'text', text: 'ho' },
          ],
        },
        { role: 'user', content: 'hi' },
      ],
    })
    const sent = JSON.stringify(gateway.upstream.calls.at(-1)?.body)
    expect(sent).toContain('mine')
    expect(sent).not.toContain('strange')
  })

  test('the gateway for an Anthropic client refuses a stranger in its words', async () => {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'nobody', maxRetries: 0 })
    const error = await client.messages
      .create({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 401, type: 'authentication_error', errorCode: 'unauthenticated' })
  })

  test('the gateway for an Anthropic client says what is spent when the budget is', async () => {
    const poor = await startLlmGateway('anthropic', 'anthropic/claude-haiku-4-5', { dailyUsd: 0.000_001 })
    const client = new Anthropic({ baseURL: poor.rootUrl, apiKey: 'scout', maxRetries: 0 })
    const error = await client.messages
      .create({ model: 'claude-haiku-4-5', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 402, type: 'billing_error', errorCode: 'budget-exhausted' })
    await poor.close()
  })
})
