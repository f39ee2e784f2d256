import { describe, expect, onTestFinished, test } from 'vitest'
import { httpCall } from '../../../../../tests/support/http-call.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'

const hi = [{ role: 'user', content: 'hi' }]
const terms = { usd_per_call: 0.01, max_calls: 5, max_tokens_per_call: 1000 }

async function aServer(
  wire: WireKind,
  model: string,
  options: { serverTools?: object; dailyUsd?: number; models?: readonly string[] } = {},
) {
  const { serverTools, ...rest } = options
  const gateway = await startLlmGateway(wire, model, {
    ...rest,
    ...(serverTools === undefined ? {} : { modelSettings: { server_tools: serverTools } }),
  })
  onTestFinished(() => gateway.close())
  const post = (path: string, body: object) =>
    httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}${path}`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 100, messages: hi, ...body }),
    })
  return { gateway, post }
}

const chat = '/v1/chat/completions'
const fetchTool = {
  type: 'openrouter:web_fetch',
  parameters: { max_uses: 50, max_content_tokens: 900_000, engine: 'x', api_key: 'k' },
}

describe('a tool that runs at the provider', () => {
  test('a tool that runs at the provider is let through where the owner names it, bounded as the owner says and paid with its fee', async () => {
    const { gateway, post } = await aServer('openai', 'openrouter/m', {
      serverTools: { 'openrouter:web_fetch': terms },
    })
    const reply = await post(chat, { tools: [fetchTool] })
    expect(reply.status, reply.text).toBe(200)
    expect(gateway.upstream.calls[0]?.body['tools']).toEqual([
      { type: 'openrouter:web_fetch', parameters: { max_uses: 5, max_content_tokens: 1000 } },
    ])
    // The number of executions is not reported, so all five are paid.
    expect(gateway.spentNano()).toBe(12 * 3000 + 30 * 15_000 + 5 * 10_000_000)
  })

  test('a tool that runs at the provider is paid by the provider’s own word where that has its fee in it', async () => {
    const { gateway, post } = await aServer('openai', 'openrouter/m', {
      serverTools: { 'openrouter:web_fetch': terms },
    })
    gateway.upstream.answerWith((_call, response) => {
      const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, cost: 0.02 }
      response.writeHead(200, { 'content-type': 'application/json' })
      const message = { role: 'assistant', content: 'Hello' }
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
    })
    await post(chat, { tools: [fetchTool] })
    expect(gateway.spentNano()).toBe(20_000_000)
  })

  test('a server tool is charged by the count in the usage', async () => {
    const model = 'anthropic/claude-haiku-4-5'
    const { gateway, post } = await aServer('anthropic', model, {
      serverTools: { web_search_20250305: terms },
    })
    gateway.upstream.answerWith((_call, response) => {
      const usage = { input_tokens: 10, output_tokens: 2, server_tool_use: { web_search_requests: 3 } }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ type: 'message', role: 'assistant', content: [{ type: 'text', text: 'x' }], usage }),
      )
    })
    const reply = await post('/v1/messages', {
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }],
    })
    expect(reply.status, reply.text).toBe(200)
    expect(gateway.upstream.calls[0]?.body['tools']).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 4 },
    ])
    expect(gateway.spentNano()).toBe(10 * 3000 + 2 * 15_000 + 3 * 10_000_000)
  })

  test('a tool that runs at the provider has all its fees set aside before it leaves', async () => {
    const { gateway, post } = await aServer('openai', 'openrouter/m', {
      dailyUsd: 0.045,
      serverTools: { 'openrouter:web_fetch': terms },
    })
    const reply = await post(chat, { tools: [fetchTool] })
    expect(reply.json()).toMatchObject({ code: 'budget-exhausted' })
    expect(gateway.upstream.calls).toEqual([])
  })

  test('a server tool is charged by its bound if the answer has no usage', async () => {
    const { gateway, post } = await aServer('openai', 'openrouter/m', {
      serverTools: { 'openrouter:web_fetch': terms },
    })
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const message = { role: 'assistant', content: 'Hello' }
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    })
    await post(chat, { tools: [fetchTool] })
    expect(gateway.spentNano()).toBeGreaterThan(5 * 10_000_000)
  })

  test('a tool that runs at the provider is refused for another model than the one it is named for, and where nothing can bound it', async () => {
    const serverTools = { 'openrouter:web_fetch': terms, 'openrouter:web_search': terms }
    const { gateway, post } = await aServer('openai', 'openrouter/m', {
      serverTools,
      models: ['openrouter/other'],
    })
    const elsewhere = await post(chat, { model: 'openrouter/other', tools: [fetchTool] })
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.text).toContain('runs at the provider')
    const unbounded = await post(chat, { tools: [{ type: 'openrouter:web_search' }] })
    expect(unbounded.status).toBe(400)
    expect(unbounded.text).toContain('no setting can allow it')
    expect(gateway.upstream.calls).toEqual([])
  })

  test('a tool that runs at the provider is no model that searches by itself', async () => {
    const models = [
      'openrouter/m:online',
      'openrouter/openai/gpt-4o:ONLINE',
      'openrouter/m:online:nitro',
      'openrouter/m:nitro:online ',
      'openrouter/m: online',
    ]
    const { gateway, post } = await aServer('openai', 'openrouter/m', { models })
    for (const model of models) {
      const reply = await post(chat, { model })
      expect(reply.status).toBe(400)
      expect(reply.text).toContain('searches the web at its provider')
    }
    expect(gateway.upstream.calls).toEqual([])
  })

  test('calls of server tools are returned with their results, and only where the tool is offered', async () => {
    const model = 'anthropic/claude-haiku-4-5'
    const { gateway, post } = await aServer('anthropic', model, {
      serverTools: { web_search_20250305: terms },
    })
    const messages = [
      ...hi,
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [
              { type: 'web_search_result', url: 'https://a.test', title: 'A', encrypted_content: 'e' },
            ],
          },
          { type: 'text', text: 'Found' },
        ],
      },
      ...hi,
    ]
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    expect((await post('/v1/messages', { messages, tools })).status).toBe(200)
    expect(gateway.upstream.calls[0]?.body['messages']).toEqual(messages)
    expect((await post('/v1/messages', { messages })).status).toBe(400)
  })
})
