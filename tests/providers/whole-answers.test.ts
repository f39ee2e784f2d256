import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createNormalWriter } from '../../packages/inference/src/models/formats/answer/normal-reply.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { itemsOddities } from './items-rows.ts'
import { nativeOddities } from './native-rows.ts'
import type { NativeOddity } from './native-events.ts'
import { done, end, hello, whole } from './oddity.ts'
import { wholeMessages } from './whole-rows.ts'

const models = {
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-flash',
  bedrock: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0',
  responses: 'openai/gpt-5.1-codex',
} as const

/** An answer of either surface in one form, without ids: what a client learns from it. */
interface Learned {
  readonly text: string
  readonly thought: string
  readonly calls: readonly (readonly [string, unknown])[]
  readonly end: string
}

function learnedFromChat(bytes: string): Learned | string {
  let text = ''
  const writer = createNormalWriter(
    { stream: false, model: 'm', from: 'lab', secrets: [], newId: () => 'call', createdSeconds: 1 },
    (piece) => (text += piece),
  )
  try {
    writer.take(Buffer.from(bytes))
    writer.end()
  } catch (error) {
    return `failed: ${(error as Error).message}`
  }
  const { choices } = JSON.parse(text) as { choices: Choice[] }
  const [{ message, finish_reason: end }] = choices as [Choice]
  return {
    text: message.content ?? '',
    thought: (message.reasoning_details ?? []).reduce((all, detail) => all + (detail.text ?? ''), ''),
    calls: (message.tool_calls ?? []).map((call) => [
      call.function.name,
      JSON.parse(call.function.arguments),
    ]),
    end,
  }
}

interface Choice {
  readonly finish_reason: string
  readonly message: {
    readonly content: string | null
    readonly reasoning_details?: readonly { readonly text?: string }[]
    readonly tool_calls?: readonly {
      readonly function: { readonly name: string; readonly arguments: string }
    }[]
  }
}

/** The content that a row promises, with the input of calls as values. */
function promised({ normal }: NativeOddity): Learned | null {
  if ('problem' in normal) return null
  const { text = '', thought = '', calls = [], end = 'stop' } = normal
  return { text, thought, calls: calls.map(([name, written]) => [name, JSON.parse(written)]), end }
}

const ends: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly name?: string
  readonly input?: unknown
}

/** A message of the Messages API, which its own surface passes to programs. */
function learnedFromMessage(message: {
  readonly content: readonly Block[]
  readonly stop_reason: string | null
}): Learned {
  const of = (type: string) => message.content.filter((block) => block.type === type)
  return {
    text: of('text').reduce((all, { text = '' }) => all + text, ''),
    thought: of('thinking').reduce((all, { thinking = '' }) => all + thinking, ''),
    calls: of('tool_use').map(({ name = '', input }) => [name, input]),
    end: ends[message.stop_reason ?? ''] ?? 'stop',
  }
}

const forms = ['text/event-stream', 'application/json', 'text/plain; charset=utf-8', ''] as const

/** A row with each type that a provider may declare in the soak, else with one of them in turn. */
function inForms<T>(row: T, index: number): (T & { readonly type: string })[] {
  const types = process.env['FLOTILLA_SOAK'] === '1' ? forms : [forms[index % forms.length] ?? '']
  return types.map((type) => ({ ...row, type }))
}

describe.each(Object.keys(models) as (keyof typeof models)[])('answers of %s, whole and streamed', (kind) => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
    gateway = await startLlmGateway(kind, models[kind], { modelSettings: { price } })
  })
  afterAll(() => gateway.close())
  // One row is about the key, after which the provider is not asked again.
  beforeEach(() => gateway.newKey())

  async function ask(path: string, stream: boolean): Promise<{ status: number; body: string }> {
    const messages = [{ role: 'user', content: 'hi' }]
    const reply = await fetch(`${gateway.rootUrl}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
      body: JSON.stringify({ model: models[kind], messages, max_tokens: 100, stream }),
    })
    return { status: reply.status, body: await reply.text() }
  }

  /** The message that Anthropic's official client reads from the other surface. */
  async function officialMessage(stream: boolean) {
    const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
    const asked = {
      model: models[kind],
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'hi' }],
    }
    return stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked)
  }

  function answerWith(wire: string, contentType: string): void {
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': contentType })
      response.end(wire)
    })
  }

  const rows = [...nativeOddities, ...itemsOddities].filter((row) => row.kind === kind)
  test.skipIf(rows.length === 0).each(rows.flatMap(inForms))(
    'a stream of type "$type" is read as a stream and as a whole answer, where $what',
    async (row) => {
      answerWith(row.wire, row.type)
      const answers = [await ask('/v1/chat/completions', true), await ask('/v1/chat/completions', false)]
      const expected = promised(row)
      if (expected === null) {
        for (const { status, body } of answers) expect(status === 200 && !body.includes('error')).toBe(false)
        return
      }
      for (const { status, body } of answers) {
        expect(status).toBe(200)
        expect(learnedFromChat(body)).toEqual(expected)
      }
    },
  )

  const wholes = wholeMessages.filter((row) => row.kind === kind)
  test.each(wholes.flatMap(inForms))(
    'a whole answer of type "$type" is read as a whole answer and as a stream, where $what',
    async (row) => {
      answerWith(row.wire, row.type)
      const { normal } = row
      // A stream of Bedrock is binary.
      for (const stream of kind === 'bedrock' ? [false] : [true, false]) {
        const { status, body } = await ask('/v1/chat/completions', stream)
        if ('problem' in normal) {
          expect(`${status} ${body}`).toContain(normal.problem)
          expect(body).toContain(normal.says ?? '')
        } else {
          expect(`${status} ${body}`).toMatch(/^200 /)
          expect(learnedFromChat(body)).toEqual(promised(row))
        }
        if (kind !== 'anthropic') continue
        const message = officialMessage(stream)
        if ('problem' in normal) await expect(message).rejects.toBeInstanceOf(Anthropic.APIError)
        else expect(learnedFromMessage(await message)).toEqual(promised(row))
      }
    },
  )
})

describe('answers of a chat, whatever type the provider declares', () => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
    gateway = await startLlmGateway('openai', 'lab/m', { modelSettings: { price } })
  })
  afterAll(() => gateway.close())

  const wires = {
    'a stream': hello + end + done,
    'a whole answer': whole({ role: 'assistant', content: 'Hello' }),
    'a whole answer on several lines': JSON.stringify(JSON.parse(whole({ content: 'Hello' })), null, 2),
    'a whole answer behind blanks and a byte order mark': `\uFEFF \n${whole({ content: 'Hello' })}`,
    'lines of JSON': (hello + end).replaceAll('data: ', '').replaceAll('\n\n', '\n'),
  }
  const types = [
    'text/event-stream',
    'application/json',
    'text/plain',
    'text/html',
    'application/octet-stream',
    '',
  ]
  const cases = Object.entries(wires).flatMap(([what, wire]) =>
    types.flatMap((type) => [true, false].map((stream) => ({ what, wire, type, stream }))),
  )

  test.each(cases)('$what of type "$type" where stream is $stream', async ({ wire, type, stream }) => {
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': type })
      // The first byte comes alone.
      response.write(wire.slice(0, 1))
      setImmediate(() => response.end(wire.slice(1)))
    })
    const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
    const asked = { model: 'lab/m', messages: [{ role: 'user' as const, content: 'hi' }] }
    const answer = stream
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked)
    expect(answer.choices[0]?.message.content).toBe('Hello')
  })
})
