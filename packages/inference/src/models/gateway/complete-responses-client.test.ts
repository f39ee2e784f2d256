import OpenAI, { APIError, APIUserAbortError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../tests/support/wire-upstream.ts'

type Input = OpenAI.Responses.ResponseInputItem[]
type Request = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'Returns the weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}
const picture = 'data:image/png;base64,iVBORw0KGgo='

/** The official client with each wire format behind the gateway; the gateway translates all of them. */
const cases: readonly { wire: WireKind; model: string }[] = [
  { wire: 'openai', model: 'deepseek/m' },
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5' },
  { wire: 'google', model: 'google/gemini-2.5-flash' },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
]

describe.each(cases)('the responses of the official OpenAI client at $model', ({ wire, model }) => {
  let gateway: LlmGatewayUnderTest
  let client: OpenAI
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
    client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
  })
  afterAll(() => gateway.close())

  const ask = (input: string | Input, more: Partial<Request> = {}) =>
    client.responses.create({ model, max_output_tokens: 9000, input, ...more })
  const streamed = (input: string | Input, more: Partial<Request> = {}) =>
    client.responses.stream({ model, max_output_tokens: 9000, input, ...more })

  test('a whole response has its text and its usage', async () => {
    const response = await ask('hi')
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'Hello there',
      store: false,
      usage: { input_tokens: 12, input_tokens_details: { cached_tokens: 4 }, output_tokens: 30 },
    })
    expect(response.output.map(({ type }) => type)).toEqual(['message'])
  })

  test('a streamed response ends with the same content, and both cost the same', async () => {
    const before = gateway.spentNano()
    await ask('hi')
    const whole = gateway.spentNano() - before
    const stream = streamed('hi')
    let text = ''
    const types: string[] = []
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    const final = await stream.finalResponse()
    expect(text).toBe('Hello there')
    expect(final.output_text).toBe('Hello there')
    expect(final.usage).toMatchObject({ output_tokens: 30 })
    expect(types.slice(0, 4)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
    ])
    expect(types.at(-1)).toBe('response.completed')
    expect(gateway.spentNano() - before - whole).toBe(whole)
    expect(whole).toBeGreaterThan(0)
  })

  test('a tool is called in a stream and gets its result back', async () => {
    const input: Input = [{ role: 'user', content: 'weather' }]
    const called = await streamed(input, { tools: [weather] }).finalResponse()
    const call = called.output.find((item) => item.type === 'function_call')
    expect(call).toMatchObject({ name: 'get_weather', status: 'completed' })
    expect(JSON.parse(call?.arguments ?? '')).toEqual(weatherCall.input)
    const answer = await ask(
      [
        ...input,
        ...(called.output as Input),
        { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny' },
      ],
      { tools: [weather] },
    )
    expect(answer.output_text).toBe('It says: sunny')
  })

  test('a custom tool and a tool of a namespace are offered as functions and called by their own names', async () => {
    const patch = { type: 'custom', name: 'get_weather', description: 'Takes a city' } as const
    const custom = await streamed('weather', { tools: [patch] }).finalResponse()
    expect(custom.output.find((item) => item.type === 'custom_tool_call')).toMatchObject({
      name: 'get_weather',
      input: JSON.stringify(weatherCall.input),
    })
    const { description: _description, ...inner } = weather
    const tools = [{ type: 'namespace', name: 'sky', description: 'Weather', tools: [inner] }]
    await ask('hi', { tools: tools as never })
    expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('"sky__get_weather"')
  })

  test('a picture and a schema for the answer reach the provider', async () => {
    await ask([
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: picture, detail: 'auto' },
          { type: 'input_text', text: 'hi' },
        ],
      },
    ])
    expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('iVBORw0KGgo=')
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    await ask('hi', { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } })
    expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('"required":["a"]')
  })

  test('thinking comes as a reasoning item that may be sent back', async () => {
    const thought = await streamed('think', {
      reasoning: { effort: 'medium', summary: 'auto' },
    }).finalResponse()
    expect(thought.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Two and two.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Four' }] },
    ])
    const again = await ask([
      { role: 'user', content: 'think' },
      ...(thought.output as Input),
      { role: 'user', content: 'hi' },
    ])
    expect(again.output_text).toBe('Hello there')
    if (wire === 'anthropic')
      expect(JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('c2lnbmVkLWJ5LW1l')
  })

  test.each([
    { words: 'status-400', status: 400, code: 'model-call-rejected' },
    { words: 'too-long', status: 400, code: 'context_length_exceeded' },
    { words: 'status-401', status: 502, code: 'provider-refused' },
    { words: 'status-404', status: 404, code: 'model_not_found' },
    { words: 'status-429', status: 429, code: 'rate-limited' },
    { words: 'status-500', status: 502, code: 'upstream-failed' },
    { words: 'status-529', status: 529, code: 'model-overloaded' },
  ])('$words is reported as $status', async ({ words, status, code }) => {
    const error = await ask(words).catch((thrown: unknown) => thrown)
    gateway.newKey()
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ status, code })
    expect(JSON.stringify(error) + String(error)).not.toContain('sk-upstream-key')
  })

  test.each(['break', 'overload', 'stop'])('a stream that fails midway is an error (%s)', async (words) => {
    await expect(streamed(words).finalResponse()).rejects.toBeInstanceOf(APIError)
  })

  test('a client that leaves ends the call at the provider', async () => {
    const leaving = new AbortController()
    const call = client.responses
      .create({ model, max_output_tokens: 10, input: 'wait', stream: true }, { signal: leaving.signal })
      .catch((thrown: unknown) => thrown)
    await expect.poll(() => JSON.stringify(gateway.upstream.calls.at(-1)?.body)).toContain('wait')
    leaving.abort()
    expect(await call).toBeInstanceOf(APIUserAbortError)
    await gateway.upstream.calls.at(-1)?.closed
  })

  test('unknown members are dropped, and what is stored or runs at the provider is refused', async () => {
    const unknown = {
      api_key: 'x',
      base_url: 'http://evil',
      service_tier: 'priority',
      client_metadata: { a: 'b' },
    }
    await ask('hi', { ...unknown, store: true } as never)
    const sent = JSON.stringify(gateway.upstream.calls.at(-1)?.body)
    for (const name of [...Object.keys(unknown), 'store']) expect(sent).not.toContain(`"${name}"`)
    const refused: readonly [object, RegExp][] = [
      [{ previous_response_id: 'resp_1' }, /previous_response_id: .*send the whole conversation/],
      [{ conversation: 'conv_1' }, /conversation: /],
      [{ background: true }, /background: /],
      [{ prompt: { id: 'pmpt_1' } }, /prompt: /],
      [{ tools: [{ type: 'web_search' }] }, /web_search/],
      [{ tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://evil' }] }, /mcp/],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, /input\[0\].*store: false/],
      [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] }, /file_id/],
      [{ tool_choice: { type: 'function', name: 'other' } }, /tool_choice/],
    ]
    for (const [more, words] of refused) {
      const error = await ask('hi', more as never).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ status: 400, code: 'bad-request' })
      expect(String(error)).toMatch(words)
    }
  })
})

describe('the official OpenAI client at a model of OpenAI', () => {
  const model = 'openai/gpt-5-mini'
  let gateway: LlmGatewayUnderTest
  let client: OpenAI
  beforeAll(async () => {
    gateway = await startLlmGateway('responses', model)
    client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
  })
  afterAll(() => gateway.close())

  test.each(['whole', 'streamed'])(
    'sends encrypted reasoning of a %s response back unchanged',
    async (how) => {
      const request = {
        model,
        store: false,
        reasoning: { effort: 'medium', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
      } as const satisfies Partial<Request>
      const begin: Input = [{ role: 'user', content: 'think' }]
      const parameters = { ...request, input: begin, include: [...request.include] }
      const thought =
        how === 'whole'
          ? await client.responses.create(parameters)
          : await client.responses.stream(parameters).finalResponse()
      expect(gateway.upstream.calls.at(-1)?.body).toMatchObject({ include: ['reasoning.encrypted_content'] })
      const reasoning = { type: 'reasoning', encrypted_content: 'c2lnbmVkLWJ5LW1l' }
      expect(thought.output[0]).toMatchObject(reasoning)
      const input: Input = [...begin, ...(thought.output as Input), { role: 'user', content: 'hi' }]
      const again = await client.responses.create({ ...parameters, input })
      expect(again.output_text).toBe('Hello there')
      expect(gateway.upstream.calls.at(-1)?.body).toMatchObject({
        store: false,
        input: [{}, reasoning, { content: [{ text: 'Four' }] }, {}],
      })
    },
  )
})
