import { deferredToolLimits } from '@flotilla/protocol/deferred-tools'
import { headers } from '@flotilla/protocol/headers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { doorTokenOfScout, startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'

const aFunction = (name: string) => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties: {} } },
})
const messages = [
  { role: 'user', content: 'So: hi' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_tools', arguments: '{}' } }],
  },
  {
    role: 'tool',
    tool_call_id: 'call_1',
    content: 'Call these with call_tool:\n{"name":"set_cron"}',
    found_tools: { names: ['set_cron'], note: 'Call these by their names.' },
  },
]
const told = {
  messages,
  tools: ['call_tool', 'find_tools'].map(aFunction),
  deferred_tools: [aFunction('set_cron')],
}

async function ask(at: { wire: WireKind; model: string; body?: object; token?: string }) {
  const gateway = await startLlmGateway(at.wire, at.model)
  onTestFinished(() => gateway.close())
  const reply = await fetch(`${gateway.rootUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${at.token ?? doorTokenOfScout}`,
      'content-type': 'application/json',
      [headers.runId]: 'run_0000000000000001',
      [headers.runFence]: '1',
    },
    body: JSON.stringify({ model: at.model, max_tokens: 100, ...told, ...at.body }),
  })
  const answer = await reply.text()
  return { status: reply.status, answer, sent: JSON.stringify(gateway.upstream.calls.at(-1)?.body ?? null) }
}

const asReferences = /"tool_reference".*"defer_loading":true|"defer_loading":true.*"tool_reference"/
const members = /deferred_tools|found_tools|tool_reference|tool_search|defer_loading/

describe('found tools', () => {
  test('found tools are sent as references to the models that Anthropic documents', async () => {
    for (const model of [
      'claude-haiku-4-5',
      'claude-sonnet-4-20250514',
      'claude-opus-4-8',
      'claude-fable-5',
    ]) {
      const { status, sent } = await ask({ wire: 'anthropic', model: `anthropic/${model}` })
      expect(status).toBe(200)
      expect(sent).toMatch(asReferences)
      expect(sent).not.toContain('call_tool')
    }
  })

  test.each(['gpt-5.4', 'gpt-5.4-mini-2026-03-17', 'gpt-5.6-sol', 'gpt-6-luna', 'gpt-5.4-pro'])(
    'found tools are sent as items of a tool search to %s, which OpenAI documents',
    async (model) => {
      const { status, sent } = await ask({ wire: 'responses', model: `openai/${model}` })
      expect(status).toBe(200)
      expect(sent).toMatch(/"tool_search_call".*"tool_search_output".*"defer_loading":true/)
      expect(sent).not.toContain('call_tool')
    },
  )

  test.each<{ wire: WireKind; model: string; token?: string }>([
    { wire: 'responses', model: 'openai/gpt-5-mini' },
    { wire: 'responses', model: 'openai/gpt-4o' },
    { wire: 'responses', model: 'openai/gpt-5.4-chat-latest' },
    { wire: 'responses', model: 'openai/gpt-5.4', token: 'scout' },
    // A server that only speaks OpenAI's chat completions.
    { wire: 'openai', model: 'openai/gpt-5.4' },
    { wire: 'anthropic', model: 'anthropic/claude-3-5-haiku-20241022' },
    { wire: 'anthropic', model: 'anthropic/kimi-k2' },
    { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
    { wire: 'openai', model: 'openrouter/anthropic/claude-sonnet-4.5' },
    { wire: 'openai', model: 'groq/m' },
    { wire: 'google', model: 'google/gemini-2.5-flash' },
    // A program writes for its model itself.
    { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5', token: 'scout' },
    { wire: 'openai', model: 'groq/m', token: 'scout' },
  ])('found tools are sent as text alone to $model ($token)', async (at) => {
    const { status, sent } = await ask(at)
    expect(status).toBe(200)
    expect(sent).not.toMatch(members)
    expect(sent).toContain('Call these with call_tool')
    expect(sent).toContain('"call_tool"')
  })

  const aSchema = (parameters: unknown) => [{ type: 'function', function: { name: 'x', parameters } }]
  test.each([
    ['too many', Array.from({ length: deferredToolLimits.toolsMax + 1 }, () => aFunction('x'))],
    ['too many bytes', [aFunction('x'.repeat(deferredToolLimits.maxBytes))]],
    ['another name', [aFunction('$web_search')]],
    ['no schema', aSchema('y')],
    ['no list', 'y'],
    ['a tool of the provider', [{ type: 'web_search', function: { name: 'x', parameters: {} } }]],
    ['a base in the schema', aSchema({ id: 'https://example.com/s.json' })],
    ['an id in an example', aSchema({ properties: { a: { examples: [{ id: 'urn:isbn:1' }] } } })],
    ['a reference in a default', aSchema({ properties: { a: { default: { $ref: 'x' } } } })],
  ])(
    'definitions of found tools that are not accepted are left out, and the text stays: %s',
    async (_why, unaccepted) => {
      const { status, sent } = await ask({
        wire: 'anthropic',
        model: 'anthropic/claude-haiku-4-5',
        body: { deferred_tools: unaccepted },
      })
      expect(status).toBe(200)
      expect(sent).not.toMatch(members)
      expect(sent).toContain('Call these with call_tool')
      expect(sent).toContain('"call_tool"')
    },
  )

  test('a result with too many names of found tools is rejected before the provider', async () => {
    const found_tools = {
      names: Array.from({ length: deferredToolLimits.toolsMax + 1 }, () => 'x'),
      note: '',
    }
    const { status, answer, sent } = await ask({
      wire: 'anthropic',
      model: 'anthropic/claude-haiku-4-5',
      body: { messages: [...messages.slice(0, 2), { ...messages[2], found_tools }] },
    })
    expect(status).toBe(400)
    expect(answer).toContain('names')
    expect(sent).toBe('null')
  })
})
