import OpenAI, { APIError, APIUserAbortError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../tests/support/wire-upstream.ts'

const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const picture: OpenAI.ChatCompletionContentPart = {
  type: 'image_url',
  image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
}

const cases: readonly { wire: WireKind; model: string }[] = [
  { wire: 'openai', model: 'groq/m' },
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5' },
  { wire: 'google', model: 'google/gemini-2.5-flash' },
  { wire: 'mistral', model: 'mistral/mistral-large-latest' },
  { wire: 'cohere', model: 'cohere/command-a-03-2025' },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
  { wire: 'openai', model: 'azure/gpt-4o' },
]

describe.each(cases)('the official OpenAI client at $model', ({ wire, model }) => {
  let gateway: LlmGatewayUnderTest
  let client: OpenAI
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
    client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
  })
  afterAll(() => gateway.close())

  const say = (content: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) =>
    client.chat.completions.create({
      model,
      max_completion_tokens: 9000,
      messages: [{ role: 'user', content }],
      ...more,
    })

  test('the official OpenAI client gets a whole answer and a stream that cost the same', async () => {
    heedsLesson(88)
    const before = gateway.spentNano()
    const whole = await say('hi')
    const spent = gateway.spentNano() - before
    const stream = client.chat.completions.stream({
      model,
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 9000,
      stream_options: { include_usage: true },
    })
    const streamed = await stream.finalChatCompletion()
    expect(whole.choices[0]).toMatchObject({ message: { content: 'Hello there' }, finish_reason: 'stop' })
    expect(streamed.choices[0]).toMatchObject({ message: { content: 'Hello there' }, finish_reason: 'stop' })
    expect(whole.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 })
    expect(streamed.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 })
    expect(spent).toBe(12 * 3000 + 30 * 15_000)
    expect(gateway.spentNano() - before).toBe(2 * spent)
  })

  test('the official OpenAI client calls a tool in a stream and hands its result back', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'weather' }]
    const called = await client.chat.completions
      .stream({ model, messages, tools: [weather], max_completion_tokens: 9000 })
      .finalChatCompletion()
    const [choice] = called.choices
    const [call] = choice?.message.tool_calls ?? []
    expect(choice?.finish_reason).toBe('tool_calls')
    if (call?.type !== 'function') throw new Error('no call')
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toEqual(weatherCall.input)
    const answer = await say('', {
      tools: [weather],
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'sunny' },
      ],
    })
    expect(answer.choices[0]?.message.content).toBe('It says: sunny')
  })

  test('the official OpenAI client sends a picture', async () => {
    await say('', { messages: [{ role: 'user', content: [picture, { type: 'text', text: 'hi' }] }] })
    expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('iVBORw0KGgo=')
  })

  test.each([
    { words: 'status-400', status: 400, name: 'BadRequestError', code: 'model-call-rejected' },
    { words: 'too-long', status: 400, name: 'BadRequestError', code: 'context_length_exceeded' },
    { words: 'status-401', status: 502, name: 'InternalServerError', code: 'provider-refused' },
    { words: 'status-404', status: 404, name: 'NotFoundError', code: 'model_not_found' },
    { words: 'status-429', status: 429, name: 'RateLimitError', code: 'rate-limited' },
    { words: 'status-500', status: 502, name: 'InternalServerError', code: 'upstream-failed' },
    { words: 'status-529', status: 529, name: 'InternalServerError', code: 'model-overloaded' },
  ])('the official OpenAI client receives $words as $status $name', async ({ words, status, name, code }) => {
    const error = await say(words).catch((thrown: unknown) => thrown)
    gateway.newKey()
    expect(error).toBeInstanceOf(APIError)
    expect((error as APIError).constructor.name).toBe(name)
    expect(error).toMatchObject({ status, code })
    expect(JSON.stringify(error) + String(error)).not.toContain('sk-upstream-key')
  })

  test.each(['break', 'overload'])(
    'a stream that fails midway is reported to the client as an error (%s)',
    async (words) => {
      const stream = client.chat.completions.stream({
        model,
        max_completion_tokens: 9000,
        messages: [{ role: 'user', content: words }],
      })
      await expect(stream.finalChatCompletion()).rejects.toThrow(/\w/)
    },
  )

  test('the official OpenAI client leaves an answer that the gateway reads for a while, and then cuts off', async () => {
    const leaving = new AbortController()
    const call = client.chat.completions
      .create(
        { model, stream: true, messages: [{ role: 'user', content: 'wait' }] },
        { signal: leaving.signal },
      )
      .catch((thrown: unknown) => thrown)
    await expect.poll(() => JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('wait')
    leaving.abort()
    expect(await call).toBeInstanceOf(APIUserAbortError)
    await gateway.upstream.calls.at(-1)?.closed
  })

  test('the official OpenAI client has only what is on the list sent on', async () => {
    heedsLesson(16)
    const unknown = { api_key: 'x', base_url: 'http://evil', extra_body: {}, extra_headers: {}, store: true }
    await say('hi', unknown)
    const text = JSON.stringify(gateway.upstream.calls.at(-1))
    for (const name of Object.keys(unknown)) expect(text).not.toContain(`"${name}"`)
    expect(text).not.toContain('evil')
  })
})

describe('embeddings by the official OpenAI client', () => {
  test('embeddings by the official OpenAI client pass through as they are, with their price', async () => {
    const gateway = await startLlmGateway('openai', 'openai/text-embedding-3-small')
    gateway.upstream.answerWith((call, response) => {
      const isBase64 = call.body['encoding_format'] === 'base64'
      const embedding = isBase64 ? 'AACAPwAAAEA=' : [1, 2]
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding }],
          model: 'text-embedding-3-small',
          usage: { prompt_tokens: 1000, total_tokens: 1000 },
        }),
      )
    })
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const before = gateway.spentNano()
    const inputs = ['hi', ['hi', 'ho'], [1, 2, 3], [[1], [2]]]
    for (const input of inputs) {
      const answer = await client.embeddings.create({
        model: 'text-embedding-3-small',
        input,
      })
      expect(answer.data[0]?.embedding).toEqual([1, 2])
      expect(gateway.upstream.calls.at(-1)).toMatchObject({
        path: '/v1/embeddings',
        body: { model: 'text-embedding-3-small', input },
      })
    }
    expect(gateway.spentNano() - before).toBe(4 * 1000 * 3000)
    await gateway.close()
  })

  test.each([
    [
      'google',
      'gemini-embedding-001',
      (count: number) => ({ embeddings: vectors(count).map((values) => ({ values })) }),
    ],
    [
      'mistral',
      'mistral-embed',
      (count: number) => ({
        object: 'list',
        data: vectors(count).map((embedding) => ({ embedding })),
        usage: { prompt_tokens: 9, total_tokens: 9 },
      }),
    ],
    [
      'cohere',
      'embed-v4.0',
      (count: number) => ({
        embeddings: { float: vectors(count) },
        meta: { billed_units: { input_tokens: 9 } },
      }),
    ],
  ] as const)(
    'embeddings by the official OpenAI client are translated for %s',
    async (provider, name, answer) => {
      const model = `${provider}/${name}`
      const gateway = await startLlmGateway(provider, model)
      gateway.upstream.answerWith((call, response) => {
        const { requests, texts, input } = call.body as { requests?: []; texts?: []; input?: [] }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(answer((requests ?? texts ?? input ?? []).length)))
      })
      const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
      const got = await client.embeddings.create({ model, input: ['a', 'b'] })
      expect(got.data.map((entry) => entry.embedding)).toEqual([
        [0, 1],
        [1, 1],
      ])
      expect(gateway.spentNano()).toBeGreaterThan(0)
      const tokens = await client.embeddings
        .create({ model, input: [1, 2] })
        .catch((thrown: unknown) => thrown)
      expect(tokens).toMatchObject({ status: 400, code: 'bad-request' })
      await gateway.close()
    },
  )

  test('embeddings by the official OpenAI client are made offline by words alone, the same each time', async () => {
    const gateway = await startLlmGateway('openai', 'openai/m', { models: ['offline/*'] })
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const make = async (...input: string[]) =>
      (await client.embeddings.create({ model: 'offline/hashed-words', input })).data.map(
        (entry) => entry.embedding,
      )
    const [apple, apples, rain] = await make('a red apple', 'The red apple!', 'rain in the north')
    const near = (one: number[] = [], other: number[] = []) =>
      one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
    expect(near(apple, apples)).toBeGreaterThan(near(apple, rain) + 0.3)
    expect((await make('a red apple'))[0]).toEqual(apple)
    const floats = await client.embeddings.create({
      model: 'offline/hashed-words',
      input: 'a red apple',
      encoding_format: 'float',
      dimensions: 64,
    })
    expect(floats.data[0]?.embedding).toHaveLength(64)
    expect(gateway.spentNano()).toBe(0)
    await gateway.close()
  })

  test('embeddings by the official OpenAI client stay within the list of models and the budget', async () => {
    heedsLesson(15, 17)
    const gateway = await startLlmGateway('openai', 'openai/m', { dailyUsd: 0.000_000_1 })
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const other = await client.embeddings
      .create({ model: 'openai/other', input: 'hi' })
      .catch((thrown: unknown) => thrown)
    expect(other).toMatchObject({ status: 403, code: 'model-not-allowed' })
    const dear = await client.embeddings
      .create({ model: 'm', input: 'hi' })
      .catch((thrown: unknown) => thrown)
    expect(dear).toMatchObject({ status: 402, code: 'budget-exhausted' })
    expect(gateway.upstream.calls).toHaveLength(0)
    await gateway.close()
  })

  test('embeddings by the official OpenAI client are refused by a model that makes none, and answer no chat', async () => {
    const gateway = await startLlmGateway('anthropic', 'anthropic/claude-haiku-4-5', {
      models: ['offline/*'],
    })
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const none = await client.embeddings
      .create({ model: 'claude-haiku-4-5', input: 'hi' })
      .catch((thrown: unknown) => thrown)
    expect(none).toMatchObject({ status: 400, code: 'bad-request' })
    const chat = await client.chat.completions
      .create({ model: 'offline/hashed-words', messages: [{ role: 'user', content: 'hi' }] })
      .catch((thrown: unknown) => thrown)
    expect(chat).toMatchObject({ status: 400, code: 'bad-request' })
    await gateway.close()
  })
})

test('one model is accepted by its full and by its bare name', async () => {
  const gateway = await startLlmGateway('openai', 'openai/m')
  const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
  const told = { id: 'openai/m', object: 'model', owned_by: 'openai' }
  expect(await client.models.retrieve('openai/m')).toMatchObject(told)
  expect(await client.models.retrieve('m')).toMatchObject(told)
  const error = await client.models.retrieve('openai/other').catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 404, code: 'not-found' })
  await gateway.close()
})

function vectors(count: number): number[][] {
  return Array.from({ length: count }, (_none, index) => [index, 1])
}
