import { describe, expect, test } from 'vitest'
import {
  answerStream,
  answerWhole,
  refuse,
  startLlmUpstream,
} from '../../../../../tests/support/llm-upstream.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { answerTranscript, aTranscriptionServer } from '../../../../../tests/support/transcription-server.ts'
import { describeLlmProvider, describeTranscriber } from '../llm-provider.conformance.ts'
import type { ProviderRequest } from '../llm-provider.ts'
import { createOpenAiCompatibleProvider } from './openai-compatible-provider.ts'

describeLlmProvider('openai-compatible', async () => {
  const upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    if (JSON.stringify(call.body['messages']).includes('wait')) return
    if (call.body['stream'] === true) answerStream(call, response)
    else answerWhole(response)
  })
  const provider = createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null })
  return {
    provider,
    model: 'm',
    close: async () => {
      await provider.close()
      await upstream.close()
    },
  }
})

describeTranscriber('openai-compatible', async () => {
  const server = await aTranscriptionServer()
  server.answerWith(({ bytes }, response) => {
    if (!bytes.includes('wait')) answerTranscript(response, 'Hello there')
  })
  const provider = createOpenAiCompatibleProvider({ baseUrl: server.baseUrl, apiKey: null })
  return {
    provider,
    model: 'm',
    close: async () => {
      await provider.close()
      await server.close()
    },
  }
})

const request: ProviderRequest = {
  form: 'chat',
  agentId: 'scout',
  model: 'm',
  stream: false,
  parameters: {},
  body: '{"a":1}',
}
const open = () => new AbortController().signal

describe('the openai-compatible provider', () => {
  test('the openai-compatible provider keeps the path and the query of its address, and sends the body as it is', async () => {
    const upstream = await startLlmUpstream()
    const provider = createOpenAiCompatibleProvider({
      baseUrl: `${upstream.baseUrl}/deployments/x/?api-version=3`,
      apiKey: createSecret('k', 'the-key'),
    })
    await provider.complete(request, { signal: open() })
    expect(upstream.calls[0]).toMatchObject({
      path: '/v1/deployments/x/chat/completions?api-version=3',
      body: { a: 1 },
    })
    expect(upstream.calls[0]?.headers.authorization).toBe('Bearer the-key')
    await provider.close()
    await upstream.close()
  })

  test('the openai-compatible provider calls a server in errors by its name in the settings', async () => {
    const upstream = await startLlmUpstream()
    upstream.answerWith((_call, response) => void response.destroy())
    const provider = createOpenAiCompatibleProvider({
      baseUrl: upstream.baseUrl,
      apiKey: null,
      name: 'gpu-box',
    })
    await expect(provider.complete(request, { signal: open() })).rejects.toMatchObject({
      detail: expect.stringContaining(`gpu-box (${new URL(upstream.baseUrl).host})`),
    })
    await provider.close()
    await upstream.close()
  })

  test('the openai-compatible provider comes to the end of an answer that ends with its connection, however slowly it is read', async () => {
    const upstream = await startLlmUpstream()
    const pieces = ['one ', 'two ', 'three ', 'four']
    const read: string[] = []
    const wasRead = pieces.map(() => Promise.withResolvers<void>())
    upstream.answerWith(async (_call, response) => {
      const { socket } = response
      socket?.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n')
      for (const [at, piece] of pieces.entries()) {
        socket?.write(piece)
        await wasRead[at]?.promise
      }
      socket?.end()
    })
    const provider = createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null })
    const reply = await provider.complete({ ...request, stream: true }, { signal: open() })
    for await (const piece of reply.body) {
      wasRead[read.length]?.resolve()
      read.push(Buffer.from(piece).toString())
      // A stream without an end would hold the loop forever.
      if (read.length > 100) break
    }
    expect(read).toEqual(pieces)
    await provider.close()
    await upstream.close()
  })

  test('the openai-compatible provider hands on a refusal as a reply with its Retry-After', async () => {
    const upstream = await startLlmUpstream()
    upstream.answerWith((_call, response) => refuse(response, 429, { headers: { 'retry-after': '7' } }))
    const provider = createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null })
    const reply = await provider.complete(request, { signal: open() })
    expect(reply).toMatchObject({ status: 429, retryAfterSeconds: 7 })
    await provider.close()
    await upstream.close()
  })

  test.each([
    ['headers', { headersMs: 50 }],
    ['the next piece of the body', { bodyIdleMs: 50 }],
    ['the end of an answer that never falls silent', { answerMs: 200 }],
  ])('the openai-compatible provider gives up when it waits too long for %s', async (what, timeouts) => {
    const upstream = await startLlmUpstream()
    upstream.answerWith((_call, response) => {
      if (what !== 'headers') response.writeHead(200).write('{')
      if (!what.startsWith('the end')) return
      const dropping = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(dropping))
    })
    const provider = createOpenAiCompatibleProvider({ baseUrl: upstream.baseUrl, apiKey: null, timeouts })
    const reading = provider
      .complete(request, { signal: open() })
      .then((reply) => Array.fromAsync(reply.body))
    await expect(reading).rejects.toMatchObject({ code: 'upstream-timeout' })
    await provider.close()
    await upstream.close()
  })

  test('the openai-compatible provider passes responses on, without reasoning that only the mesh can read', async () => {
    const upstream = await startLlmUpstream()
    const ended =
      'event: response.completed\ndata: {"type":"response.completed","response":{"usage":null}}\n\n'
    upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(ended)
    })
    const provider = createOpenAiCompatibleProvider({
      baseUrl: upstream.baseUrl,
      apiKey: null,
      hasResponses: true,
    })
    const own = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAB' }
    const foreign = {
      type: 'reasoning',
      id: 'rs_2',
      summary: [],
      encrypted_content: 'flotilla:thinking:c2ln',
    }
    const parameters = { input: [own, foreign, { role: 'user', content: 'hi' }], stream: true }
    const reply = await provider.complete(
      { ...request, form: 'responses', stream: true, parameters, body: JSON.stringify(parameters) },
      { signal: open() },
    )
    expect(Buffer.concat(await Array.fromAsync(reply.body)).toString()).toBe(ended)
    const [call] = upstream.calls
    expect(call?.path).toMatch(/\/responses$/)
    expect(call?.body).toEqual({ input: [own, { role: 'user', content: 'hi' }], stream: true })
    await provider.close()
    await upstream.close()
  })
})
