import Anthropic, { NotFoundError as AnthropicNotFound } from '@anthropic-ai/sdk'
import { request } from 'node:http'
import OpenAI, { NotFoundError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'

const model = 'deepseek/m'
const openAiOffers =
  'it offers POST /v1/chat/completions, POST /v1/responses, POST /v1/embeddings, GET /v1/models and GET /v1/models/{id}'
const anthropicOffers =
  'it offers POST /v1/messages, POST /v1/messages/count_tokens, GET /v1/models and GET /v1/models/{id}'

let gateway: LlmGatewayUnderTest
beforeAll(async () => {
  gateway = await startLlmGateway('openai', model)
})
afterAll(() => gateway.close())

const thrownBy = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => new Error('it was answered'),
    (error: unknown) => error,
  )

describe('what the model gateway does not offer, asked for by the official OpenAI client', () => {
  const client = () => new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
  const file = new File(['x'], 'sound.wav')
  const asked: readonly [string, (of: OpenAI) => PromiseLike<unknown>][] = [
    ['GET /v1/responses/resp_1', (of) => of.responses.retrieve('resp_1')],
    ['POST /v1/completions', (of) => of.completions.create({ model, prompt: 'hi' })],
    ['POST /v1/audio/speech', (of) => of.audio.speech.create({ model, input: 'hi', voice: 'alloy' })],
    ['POST /v1/audio/transcriptions', (of) => of.audio.transcriptions.create({ model, file })],
    ['POST /v1/images/generations', (of) => of.images.generate({ model, prompt: 'a boat' })],
    ['POST /v1/files', (of) => of.files.create({ file, purpose: 'assistants' })],
    ['GET /v1/files', (of) => of.files.list()],
    ['DELETE /v1/files/file_1', (of) => of.files.delete('file_1')],
    ['POST /v1/assistants', (of) => of.beta.assistants.create({ model })],
    ['POST /v1/threads', (of) => of.beta.threads.create({})],
    [
      'POST /v1/batches',
      (of) =>
        of.batches.create({
          completion_window: '24h',
          endpoint: '/v1/chat/completions',
          input_file_id: 'file_1',
        }),
    ],
    ['POST /v1/moderations', (of) => of.moderations.create({ input: 'hi' })],
    ['GET /v1/chat/completions', (of) => of.chat.completions.list()],
    ['DELETE /v1/models/m', (of) => of.models.delete('m')],
  ]

  test.each(asked)('%s is refused in one sentence that says what is offered', async (surface, call) => {
    const error = await thrownBy(call(client()))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({
      message: `404 the model gateway does not offer ${surface}; ${openAiOffers}`,
      type: 'invalid_request_error',
      code: 'surface-not-offered',
      param: null,
    })
  })
})

describe('what the model gateway does not offer, asked for by the official Anthropic client', () => {
  const client = () => new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
  const asked: readonly [string, (of: Anthropic) => PromiseLike<unknown>][] = [
    ['POST /v1/messages/batches', (of) => of.messages.batches.create({ requests: [] })],
    ['GET /v1/messages/batches', (of) => of.messages.batches.list()],
    ['GET /v1/files', (of) => of.beta.files.list()],
    ['POST /v1/files', (of) => of.beta.files.upload({ file: new File(['x'], 'notes.txt') })],
  ]

  test.each(asked)('%s is refused in one sentence that says what is offered', async (surface, call) => {
    const error = await thrownBy(call(client()))
    const sentence = `the model gateway does not offer ${surface}; ${anthropicOffers}`
    expect(error).toBeInstanceOf(AnthropicNotFound)
    expect(error).toMatchObject({
      message: `404 ${sentence}`,
      type: 'not_found_error',
      error: { type: 'error', error: { type: 'not_found_error', message: sentence } },
    })
  })
})

describe('a surface that is not offered', () => {
  /** Sends the first line and headers, but never the announced body. */
  const firstLine = (path: string, headers: Record<string, string>) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const call = request(`${gateway.rootUrl}${path}`, { method: 'POST', headers }, (answer) => {
        answer.setEncoding('utf8')
        let text = ''
        answer.on('data', (part: string) => (text += part))
        answer.on('end', () => {
          resolve({ status: answer.statusCode, text })
          call.destroy()
        })
      })
      call.on('error', reject)
      call.flushHeaders()
    })

  test('a surface that is not offered is refused at the first line, whatever body was promised', async () => {
    const { status, text } = await firstLine('/v1/files', {
      authorization: 'Bearer scout',
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': '900000000',
    })
    expect(status).toBe(404)
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'surface-not-offered' } })
  })

  test('a surface that is not offered is not revealed to unauthenticated callers', async () => {
    const { status, text } = await firstLine('/v1/completions', {
      authorization: 'Bearer nobody',
      'content-length': '10',
    })
    expect(status).toBe(401)
    expect(text).not.toContain('/v1/chat/completions')
  })

  test('a surface that is not offered is repeated in the refusal only as far as it can be read', async () => {
    const { text } = await firstLine(`/v1/${'x'.repeat(3000)}?secret=1`, {
      authorization: 'Bearer scout',
      'content-length': '0',
    })
    expect(text).toContain('/v1/xxx')
    expect(text).not.toContain('secret')
    expect(text.length).toBeLessThan(1500)
  })
})

test('an agent that may call no model is rejected when it sends a prompt, and sees the offered surfaces when it reads', async () => {
  const denied = await startLlmGateway('openai', model, {
    guard: () => {
      throw new Problem('denied', { detail: 'no models for this one' })
    },
  })
  try {
    const headers = { authorization: 'Bearer scout', 'content-type': 'application/json' }
    const ask = (method: string) => fetch(`${denied.rootUrl}/v1/completions`, { method, headers })
    expect((await ask('POST')).status).toBe(403)
    expect((await ask('DELETE')).status).toBe(403)
    expect((await ask('GET')).status).toBe(404)
  } finally {
    await denied.close()
  }
})
