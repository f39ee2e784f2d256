import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aModelPath, startLlmServer } from '../../../../../tests/support/model-harness.ts'
import type { LlmParts } from '../../../../../tests/support/model-harness.ts'
import {
  answerStream,
  answerWhole,
  chunkEvent,
  refuse,
  startLlmUpstream,
  usageEvent,
} from '../../../../../tests/support/llm-upstream.ts'
import type { LlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { verifies } from '../../../../../tests/verifies.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]
/** 10 tokens at 0.15 and 2 at 0.6 dollars per million. */
const helloCostUsd = 0.0000027

describe('the official OpenAI client', () => {
  let upstream: LlmUpstream
  let parts: LlmParts
  let gateway: { readonly baseUrl: string; close(): Promise<void> }
  let client: OpenAI

  beforeAll(async () => {
    upstream = await startLlmUpstream()
    parts = aModelPath({ baseUrl: upstream.baseUrl, key: 'sk-real-provider-key-12345' })
    gateway = await startLlmServer(parts.complete)
    client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: 'program-token', maxRetries: 0 })
  })

  afterAll(async () => {
    await gateway.close()
    await parts.close()
    await upstream.close()
  })

  test('the official OpenAI client gets a whole answer with its cost, and the provider gets its own key and model name', async () => {
    verifies('purpose:mesh:proxies-llm', 'purpose:agents:use-mesh-proxy')
    upstream.answerWith((_call, response) => answerWhole(response))
    const answer = await client.chat.completions.create({
      model: 'openai/gpt-4o-mini',
      messages,
      store: true,
    })
    const sent = upstream.calls.at(-1)
    expect(answer.choices[0]?.message.content).toBe('Hello there')
    expect(answer.usage).toMatchObject({ prompt_tokens: 10, cost_usd: helloCostUsd })
    expect(sent?.headers.authorization).toBe('Bearer sk-real-provider-key-12345')
    expect(sent?.body).toEqual({ model: 'gpt-4o-mini', messages, max_tokens: 16_384 })
  })

  test('the official OpenAI client reads a stream without a usage chunk when it did not ask for one', async () => {
    upstream.answerWith(answerStream)
    const stream = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, stream: true })
    const chunks = await Array.fromAsync(stream)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello there')
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true)
    expect(upstream.calls.at(-1)?.body['stream_options']).toEqual({ include_usage: true })
  })

  test('the official OpenAI client reads the usage with the cost at the end of a stream when it asked', async () => {
    upstream.answerWith(answerStream)
    const stream = await client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    const last = (await Array.fromAsync(stream)).at(-1)
    expect(last?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 2, cost_usd: helloCostUsd })
  })

  test('the official OpenAI client gets tool calls as they were made', async () => {
    upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const call = {
        index: 0,
        id: 'call_7',
        type: 'function',
        function: { name: 'run_command', arguments: '' },
      }
      response.write(chunkEvent({ role: 'assistant', tool_calls: [call] }))
      response.write(chunkEvent({ tool_calls: [{ index: 0, function: { arguments: '{"command":' } }] }))
      response.write(chunkEvent({ tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] }))
      response.end(`${chunkEvent({}, 'tool_calls')}${usageEvent()}data: [DONE]\n\n`)
    })
    const tools = [
      { type: 'function' as const, function: { name: 'run_command', parameters: { type: 'object' } } },
    ]
    const answer = await client.chat.completions
      .stream({ model: 'gpt-4o-mini', messages, tools })
      .finalChatCompletion()
    expect(answer.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      id: 'call_7',
      function: { name: 'run_command', arguments: '{"command":"ls"}' },
    })
    expect(upstream.calls.at(-1)?.body['tools']).toEqual(tools)
  })

  test('the official OpenAI client reads why a provider refused, and never the key', async () => {
    upstream.answerWith((_call, response) =>
      refuse(response, 401, {
        message: 'Incorrect API key provided: sk-real-provider-key-12345 (or sk-re***345).',
      }),
    )
    const error = await client.chat.completions
      .create({ model: 'gpt-4o-mini', messages })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ status: 502, code: 'provider-refused' })
    expect(String(error)).toContain('Incorrect API key provided: [secret]')
    expect(JSON.stringify(error) + String(error)).not.toMatch(/sk-re/)
  })

  test('the official OpenAI client is informed which model it may not use', async () => {
    const error = await client.chat.completions
      .create({ model: 'gpt-4o', messages })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 403, code: 'model-not-allowed' })
    expect(String(error)).toContain('gpt-4o')
  })
})
