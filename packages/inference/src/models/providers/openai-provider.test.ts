import { headers } from '@flotilla/protocol/headers'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { doorTokenOfScout, startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import { answerStream, answerWhole } from '../../../../../tests/support/llm-upstream.ts'
import { wires } from '../../../../../tests/support/model-wires.ts'
import { weatherCall } from '../../../../../tests/support/wire-upstream.ts'

const tools = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } },
]

async function aGateway(model: string) {
  const gateway = await startLlmGateway('responses', `openai/${model}`)
  onTestFinished(() => gateway.close())
  const ask = async (body: object = {}, token = doorTokenOfScout) => {
    const reply = await fetch(`${gateway.rootUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        [headers.runId]: 'run_0000000000000001',
        [headers.runFence]: '1',
      },
      body: JSON.stringify({
        model: `openai/${model}`,
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 100,
        ...body,
      }),
    })
    return { status: reply.status, text: await reply.text() }
  }
  const paths = () => gateway.upstream.calls.map(({ path }) => path)
  return { gateway, ask, paths, last: () => gateway.upstream.calls.at(-1)?.body ?? {} }
}

const chat = '/v1/chat/completions'
const items = '/v1/responses'

describe('the API by which OpenAI is asked', () => {
  test.each<readonly [asked: string, body: object, path: string]>([
    ['agent gpt-5-mini', { tools }, items],
    ['agent gpt-5.4', { tools, stream: true }, items],
    ['agent o4-mini', { tools }, items],
    ['agent gpt-5-mini', {}, chat],
    ['agent gpt-4o', { tools }, chat],
    ['agent gpt-5-chat-latest', { tools }, chat],
    ['agent gpt-5-search-api', { tools }, chat],
    ['program gpt-5-mini', { tools }, chat],
    ['program gpt-5-pro', {}, items],
    ['agent o3-pro', {}, items],
    ['program gpt-5.1-codex-max', { tools, stream: true }, items],
    ['agent codex-mini-latest', {}, items],
    ['agent gpt-5-mini', { tools, stop: [], logprobs: false, presence_penalty: 0 }, items],
    ...[
      { stop: 'x' },
      { seed: 1 },
      { logprobs: true },
      { n: 2 },
      { presence_penalty: 1 },
      { max_tokens: 9 },
    ].map((more) => ['agent gpt-5-mini', { tools, ...more }, chat] as const),
  ])('a call of the %s with %j goes to %s', async (asked, body, path) => {
    const [who, model = ''] = asked.split(' ')
    const { ask, paths } = await aGateway(model)
    const { status, text } = await ask(body, who === 'agent' ? doorTokenOfScout : 'scout')
    expect({ status, paths: paths() }).toEqual({ status: 200, paths: [path] })
    expect(text).toContain('Hello')
  })

  test('a parameter that the only API of a model lacks is refused before the provider', async () => {
    const { ask, paths } = await aGateway('gpt-5-pro')
    for (const [name, body] of Object.entries({ stop: { stop: 'x' }, n: { n: 2 }, seed: { seed: 7 } })) {
      const { status, text } = await ask(body, 'scout')
      expect(status).toBe(400)
      expect(text).toContain(`${name}: gpt-5-pro has only OpenAI's Responses API, which does not take it`)
    }
    expect(paths()).toEqual([])
  })

  test('both APIs of one model cost the same for the same usage', async () => {
    const spent = []
    for (const body of [{ tools }, { tools, stop: 'x' }]) {
      const { gateway, ask, paths } = await aGateway('gpt-5-mini')
      expect((await ask(body)).status).toBe(200)
      spent.push([paths(), gateway.spentNano()])
    }
    const [[, byItems], [, byChat]] = spent as [[unknown, number], [unknown, number]]
    expect(spent.map(([path]) => path)).toEqual([[items], [chat]])
    expect(byItems).toBeGreaterThan(0)
    expect(byItems).toBe(byChat)
  })

  test('a refusal and an error in the middle of a stream have no key', async () => {
    const { gateway, ask } = await aGateway('gpt-5-pro')
    const key = 'sk-upstream-key-0123456789'
    const refused = await ask({ messages: [{ role: 'user', content: 'status-401' }] })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.text).toContain('invalid key')
    expect(refused.text).not.toContain(key)
    gateway.newKey()
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of wires.responses.events({ text: 'Hello there' }).slice(0, 4))
        response.write(wires.responses.frame(event))
      response.end(wires.responses.failure(`the key ${key} is out of order`))
    })
    const broken = await ask({ stream: true })
    expect(broken.text).toContain('is out of order')
    expect(broken.text).not.toContain(key)
  })

  test('official clients get a whole answer and a stream from a model that has only the Responses API', async () => {
    const { gateway } = await aGateway('gpt-5-pro')
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const model = 'openai/gpt-5-pro'
    const messages = [{ role: 'user' as const, content: 'weather' }]
    const whole = await client.chat.completions.create({ model, messages, tools: tools as never })
    const streamed = await client.chat.completions
      .stream({ model, messages, tools: tools as never, stream_options: { include_usage: true } })
      .finalChatCompletion()
    for (const answer of [whole, streamed]) {
      expect(answer.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: 'I look.',
          tool_calls: [{ id: weatherCall.id, function: { name: 'get_weather' } }],
        },
      })
      expect(answer.usage).toMatchObject({
        prompt_tokens: 12,
        completion_tokens: 30,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 8 },
      })
    }
  })

  test('thinking of the Responses API and found tools are not sent with a chat completion', async () => {
    const { ask, last } = await aGateway('gpt-5.4')
    const sealed = { type: 'reasoning.encrypted', data: 'x', format: 'openai-responses-v1', from: 'openai' }
    const call = { id: 'call_1', type: 'function', function: { name: 'find_tools', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'So: hi' },
      { role: 'assistant', content: null, tool_calls: [call], reasoning_details: [sealed] },
      { role: 'tool', tool_call_id: 'call_1', content: 'none', found_tools: { names: ['a'], note: '' } },
    ]
    const deferred_tools = [{ type: 'function', function: { name: 'a', parameters: {} } }]
    expect((await ask({ messages, tools, deferred_tools, stop: 'x' })).status).toBe(200)
    expect(JSON.stringify(last())).not.toMatch(/reasoning_details|found_tools|deferred_tools/)
  })

  test('pictures keep their detail, and marks of the cache their place', async () => {
    const { gateway, ask, last } = await aGateway('gpt-5.6')
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(wires.responses.whole({ text: 'Hello there' })))
    })
    const image_url = { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' }
    const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
    const long = 'x'.repeat(9000)
    const messages = [
      { role: 'system', content: long },
      { role: 'user', content: [{ type: 'image_url', image_url }] },
      { role: 'assistant', content: null, tool_calls: [call] },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'seen' },
          { type: 'image_url', image_url },
        ],
      },
      { role: 'assistant', content: 'so' },
      { role: 'user', content: 'more' },
    ]
    expect((await ask({ messages, tools })).status).toBe(200)
    const mark = { prompt_cache_breakpoint: { mode: 'explicit' } }
    const picture = { type: 'input_image', image_url: image_url.url, detail: 'low' }
    expect(last()).toMatchObject({
      prompt_cache_options: { mode: 'explicit' },
      prompt_cache_key: expect.any(String),
    })
    expect(last()['input']).toEqual([
      { role: 'developer', content: [{ type: 'input_text', text: long, ...mark }] },
      { role: 'user', content: [picture] },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'seen' },
          { ...picture, ...mark },
        ],
      },
      { role: 'assistant', content: 'so', phase: 'final_answer' },
      { role: 'user', content: [{ type: 'input_text', text: 'more', ...mark }] },
    ])
  })

  test('thinking comes back through the Messages API too, bound to its provider', async () => {
    const { gateway, last } = await aGateway('gpt-5-mini')
    const anthropicTools = [{ name: 'get_weather', input_schema: { type: 'object' } }]
    const ask = async (messages: object[]) => {
      const reply = await fetch(`${gateway.rootUrl}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': 'scout', 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'openai/gpt-5-mini',
          max_tokens: 100,
          messages,
          tools: anthropicTools,
        }),
      })
      return (await reply.json()) as { content: { type: string; data?: string }[] }
    }
    const { content } = await ask([{ role: 'user', content: 'plan' }])
    expect(content.map(({ type }) => type)).toContain('redacted_thinking')
    const results = [{ type: 'tool_result', tool_use_id: weatherCall.id, content: 'sunny' }]
    await ask([
      { role: 'user', content: 'plan' },
      { role: 'assistant', content },
      { role: 'user', content: results },
    ])
    expect(JSON.stringify(last()['input'])).toContain('"encrypted_content":"c2lnbmVkLWJ5LW1l"')
  })
})

describe('an API that OpenAI refuses for a model', () => {
  const refuse = (at: string, message: string, status: number) => async (path: string) => {
    const { ask, paths, gateway } = await aGateway(path)
    gateway.upstream.answerWith((call, response) => {
      if (call.path === at) {
        response.writeHead(status, { 'content-type': 'application/json' })
        return void response.end(
          JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }),
        )
      }
      if (call.path === chat)
        return call.body['stream'] === true ? answerStream(call, response) : answerWhole(response)
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify(wires.responses.whole({ text: 'Hello there' })))
    })
    return { ask, paths }
  }

  test.each([
    [404, 'This model is only supported in v1/responses and not in v1/chat/completions.'],
    [
      404,
      'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?',
    ],
    [
      400,
      'Function tools with reasoning_effort are not supported for gpt-9-mini in /v1/chat/completions. Please use /v1/responses instead.',
    ],
  ])(
    'a model without chat completions is asked by the other API, then at once: %i %s',
    async (status, message) => {
      const { ask, paths } = await refuse(chat, message, status)('some-model')
      expect((await ask({ tools }, 'scout')).text).toContain('Hello there')
      expect((await ask({ tools }, 'scout')).status).toBe(200)
      expect(paths()).toEqual([chat, items, items])
    },
  )

  test.each([
    [
      401,
      'You have insufficient permissions for this operation. Missing scopes: api.responses.write. Check that you have the correct role in your organization.',
    ],
    [400, "The requested model 'gpt-9' is not supported with the Responses API."],
    [400, 'Encrypted content is not supported with this model.'],
  ])(
    'a key or model without the Responses API is asked by chat completions, then at once: %i',
    async (status, message) => {
      const { ask, paths } = await refuse(items, message, status)('gpt-9')
      expect((await ask({ tools })).text).toContain('Hello there')
      expect((await ask({ tools })).status).toBe(200)
      expect(paths()).toEqual([items, chat, chat])
    },
  )

  test('a refusal that quotes the caller, and any other, is the answer', async () => {
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.'
    const quoting = await refuse(chat, message, 404)('some-model')
    const messages = [{ role: 'user', content: `Explain: ${message}` }]
    expect((await quoting.ask({ messages }, 'scout')).status).toBeGreaterThanOrEqual(400)
    expect(quoting.paths()).toEqual([chat])
    const pro = await refuse(items, 'Missing scopes: api.responses.write', 401)('gpt-5-pro')
    expect((await pro.ask({})).status).toBeGreaterThanOrEqual(400)
    expect(pro.paths()).toEqual([items])
  })
})
