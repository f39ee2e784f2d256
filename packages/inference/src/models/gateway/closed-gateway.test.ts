import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { httpCall } from '../../../../../tests/support/http-call.ts'
import type { Reply } from '../../../../../tests/support/http-call.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { reachingCalls } from '../../../../../tests/support/reaching-calls.ts'

const providers: readonly { wire: WireKind; model: string }[] = [
  { wire: 'openai', model: 'groq/m' },
  { wire: 'openai', model: 'openrouter/m' },
  { wire: 'openai', model: 'moonshot/m' },
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5' },
  { wire: 'google', model: 'google/gemini-2.5-flash' },
  { wire: 'mistral', model: 'mistral/mistral-large-latest' },
  { wire: 'cohere', model: 'cohere/command-a-03-2025' },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
  { wire: 'openai', model: 'azure/gpt-4o' },
]

const refusalSchema = z.object({ error: z.object({ message: z.string(), type: z.string() }) })

/** The sentence of a refusal, which is at the same place in both formats. */
function refusalIn(reply: Reply): string {
  return refusalSchema.parse(reply.json()).error.message
}

test('a model that searches the web by itself is available only under its own name', async () => {
  const gateway = await startLlmGateway('openai', 'perplexity/plain', {
    models: ['perplexity/*', 'openai/*', '*', 'perplexity/sonar-pro'],
  })
  onTestFinished(() => gateway.close())
  const ask = (model: string) =>
    httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}/v1/chat/completions`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
    })
  for (const model of [
    'perplexity/sonar',
    'perplexity/sonar-deep-research',
    'openai/gpt-4o-search-preview',
    'openai/gpt-5-search-api',
    'groq/compound',
    'groq/groq/compound-mini',
    'openrouter/perplexity/sonar-pro',
    'openrouter/openai/gpt-4o:online',
    'openai/o4-mini-deep-research',
    'perplexity/sonar:free',
    'perplexity/SONAR-pro',
    'perplexity/son\u200bar',
    'perplexity/sonar@preset/x',
    'perplexity/llama-3.1-sonar-large-128k-online',
    'perplexity/pplx-70b-online',
    'openai/o3-deepresearch',
    'openrouter/auto',
    'openrouter/openrouter/auto',
    'openrouter/switchpoint/router',
    'openrouter/openai/gpt-4o:online:nitro',
    'openrouter/openai/gpt-4o:online ',
    'openrouter/openai/gpt-4o: online',
    'openrouter/openai/gpt-4o:nitro',
    'openrouter/openai/gpt-4o@preset/x',
    'openrouter/@preset/x',
  ]) {
    expect((await ask(model)).json(), model).toMatchObject({ code: 'model-not-allowed' })
  }
  expect(gateway.upstream.calls).toEqual([])
  expect((await ask('perplexity/sonar-pro')).status).toBe(200)
})

describe.each(providers)('the model gateway to $model', ({ wire, model }) => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
  })
  afterAll(() => gateway.close())

  const post = (path: string, body: object) =>
    httpCall({
      method: 'POST',
      url: `${gateway.rootUrl}${path}`,
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 100, ...body }),
    })

  test.each(reachingCalls.chat)(
    'the model gateway lets no chat out with $what',
    async ({ what, place, body }) => {
      heedsLesson(16)
      const reply = await post('/v1/chat/completions', body)
      expect([400, 403], what).toContain(reply.status)
      expect(refusalIn(reply)).toContain(place)
      expect(gateway.upstream.calls).toEqual([])
      expect(gateway.spentNano()).toBe(0)
    },
  )

  test.each(reachingCalls.messages)(
    'the model gateway lets no message out with $what',
    async ({ what, place, body }) => {
      for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
        if (path.endsWith('count_tokens') && 'output_config' in body) continue
        const reply = await post(path, body)
        expect([400, 403], what).toContain(reply.status)
        expect(refusalIn(reply)).toContain(place)
      }
      expect(gateway.upstream.calls).toEqual([])
      expect(gateway.spentNano()).toBe(0)
    },
  )

  test('the model gateway embeds texts and tokens, and nothing that is named by its address', async () => {
    const url = 'https://evil.test/?d=secret'
    const before = gateway.upstream.calls.length
    for (const body of [
      { input: [{ image: url }] },
      { input: { type: 'image_url', image_url: { url } } },
      { input: [[{ type: 'image_url', image_url: { url } }]] },
      { input: 'x', user: { url } },
      { input: 'x', encoding_format: url },
    ]) {
      expect((await post('/v1/embeddings', body)).status).toBe(400)
    }
    expect(gateway.upstream.calls).toHaveLength(before)
  })

  test('the model gateway keeps what would reach out beside the prompt for itself', async () => {
    const url = 'https://evil.test/?d=secret'
    const beside = {
      web_search_options: { search_context_size: 'high' },
      plugins: [{ id: 'web' }],
      provider: { only: ['x'] },
      route: 'fallback',
      models: ['other/model'],
      transforms: ['middle-out'],
      prediction: { type: 'content', content: [{ type: 'image_url', image_url: { url } }] },
      audio: { voice: 'alloy', format: 'wav' },
      modalities: ['text', 'audio'],
      store: true,
      service_tier: 'priority',
      safety_settings: [{}],
      search_parameters: { mode: 'on' },
      extra_body: { tools: [{ type: 'web_search' }] },
      mcp_servers: [{ type: 'url', url, name: 'x' }],
      container: 'container_1',
      context_management: { edits: [] },
      functions: [{ name: 'f' }],
      prompt: { id: 'pmpt_1' },
      files: [{ url }],
      documents: [{ url }],
    }
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi', image_url: { url } }] }]
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const before = gateway.upstream.calls.length
      const reply = await post(path, { ...beside, messages, metadata: { user_id: 'u', leak: url } })
      expect(reply.status).toBe(200)
      const sent = gateway.upstream.calls.slice(before)
      expect(sent).toHaveLength(1)
      const said = JSON.stringify(sent[0]?.body)
      expect(said).not.toContain('evil.test')
      for (const name of Object.keys(beside)) expect(sent[0]?.body).not.toHaveProperty(name)
    }
  })
})
