import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { runAgentAt } from './agent-loop.ts'
import { chunk, data, done, end, hello, whole } from './oddity.ts'

const model = 'lab/m'
const messages = [{ role: 'user' as const, content: 'hi' }]

/** Errors in answers with status 200, with the status that both official clients receive. */
const failures = [
  {
    what: 'a rate limit behind a router',
    source: 'https://github.com/diegosouzapw/OmniRoute/issues/858',
    wire:
      data({
        choices: [],
        error: { code: 429, message: 'Provider returned error', metadata: { raw: 'slow down' } },
      }) + done,
    status: 429,
  },
  {
    what: 'an account without credit',
    source: 'https://github.com/NousResearch/hermes-agent/issues/36276',
    wire: JSON.stringify({ error: { code: 402, message: 'Insufficient credits' } }),
    status: 402,
  },
  {
    what: 'a quota that is used up, told in a stream',
    source: 'https://github.com/NousResearch/hermes-agent/issues/36276',
    wire: data({ error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } }),
    status: 402,
  },
  {
    what: 'a prompt that is too long, told in a stream',
    source: 'https://github.com/ayunis-core/ayunis-core/pull/1632',
    wire: data({
      error: { code: 'context_length_exceeded', message: 'maximum context length is 8192 tokens' },
    }),
    status: 400,
  },
]

describe('an answer on both surfaces of the gateway', () => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
    gateway = await startLlmGateway('openai', model, { modelSettings: { price } })
  })
  afterAll(() => gateway.close())
  beforeEach(() => gateway.newKey())

  function answerWith(wire: string, status = 200): void {
    gateway.upstream.answerWith((_call, response) => {
      const type = wire.startsWith('{') ? 'application/json' : 'text/event-stream'
      response.writeHead(status, { 'content-type': type })
      response.end(wire)
    })
  }
  const openAi = () =>
    new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 }).chat.completions
  const anthropic = () => new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 }).messages
  const asMessage = { model, max_tokens: 100, messages }

  test.each(failures)(
    'an error has the same status for the client of either API: $what',
    async ({ wire, status }) => {
      answerWith(wire)
      const asked = [
        () => openAi().stream({ model, messages }).finalChatCompletion(),
        () => openAi().create({ model, messages }),
        () => anthropic().stream(asMessage).finalMessage(),
        () => anthropic().create(asMessage),
      ]
      for (const ask of asked) {
        gateway.newKey()
        await expect(ask()).rejects.toMatchObject({ status })
      }
    },
  )

  // Source: https://github.com/E-xyza/codicil/pull/4, a gateway that answers each POST with 201.
  test.each([201, 202, 203])('an answer with status %i is an answer', async (status) => {
    answerWith(hello + end + done, status)
    expect((await openAi().stream({ model, messages }).finalMessage()).content).toBe('Hello')
    expect((await anthropic().stream(asMessage).finalMessage()).content).toMatchObject([{ text: 'Hello' }])
    expect((await runAgentAt(gateway.rootUrl, model, [])).ended).toEqual({ kind: 'answered', text: 'Hello' })
    answerWith(whole({ role: 'assistant', content: 'Hello' }), status)
    expect((await openAi().create({ model, messages })).choices[0]?.message.content).toBe('Hello')
  })

  test('a status without an answer is no answer', async () => {
    answerWith('', 204)
    await expect(openAi().create({ model, messages })).rejects.toMatchObject({ status: 502 })
  })

  // A name that a model invented, in the history that a program or an agent sends back.
  test('a conversation with a called name that begins with a dollar sign goes on, and the provider never sees the sign', async () => {
    answerWith(chunk({ role: 'assistant', content: 'Hello' }) + end + done)
    const called = [
      { id: 'a', type: 'function' as const, function: { name: '$web_search', arguments: '{}' } },
    ]
    const history = [
      ...messages,
      { role: 'assistant' as const, content: null, tool_calls: called },
      { role: 'tool' as const, tool_call_id: 'a', content: 'no such tool' },
    ]
    const asked = gateway.upstream.calls.length
    await openAi().create({ model, messages: history })
    const blocks = [{ type: 'tool_use' as const, id: 'a', name: '\uFF04web_search', input: {} }]
    const result = [{ type: 'tool_result' as const, tool_use_id: 'a', content: 'no such tool' }]
    await anthropic()
      .stream({
        ...asMessage,
        messages: [...messages, { role: 'assistant', content: blocks }, { role: 'user', content: result }],
      })
      .finalMessage()
    const sent = gateway.upstream.calls.slice(asked).map(({ text }) => text)
    expect(sent).toHaveLength(2)
    for (const body of sent) {
      expect(body).toContain('web_search')
      expect(body).not.toMatch(/\$web_search|\uFF04/)
    }
  })
})
