import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import type { GenerateContentResponse, Part } from '@google/genai'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { answerStream } from '../support/llm-upstream.ts'
import { runAgentAt } from './agent-loop.ts'
import { oddities } from './oddities.ts'
import type { NormalAnswer, Oddity } from './oddity.ts'

const model = 'lab/m'
const messages = [{ role: 'user' as const, content: 'hi' }]
const finished = /"role":"tool"|"tool_result"/

/** Parses the arguments of a call, with their names in the order in which they were written. */
function inputOf(written: string): unknown {
  try {
    const value: unknown = JSON.parse(written)
    if (isJsonObject(value)) return value
  } catch {
    // Text that is not JSON is passed on under a name that says so.
  }
  return { invalid_json: written }
}

function isSilent({ text = '', thought = '', calls }: NormalAnswer): boolean {
  return text + thought === '' && !calls
}

const stopReasons = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
} as const

const finishReasons = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
} as const

async function lastAndParts(
  answers: AsyncIterable<GenerateContentResponse> | Iterable<GenerateContentResponse>,
): Promise<{ last: GenerateContentResponse | null; parts: Part[] }> {
  let last: GenerateContentResponse | null = null
  const parts: Part[] = []
  for await (const answer of answers) {
    last = answer
    parts.push(...(answer.candidates?.[0]?.content?.parts ?? []))
  }
  return { last, parts }
}

/**
 * All rows in the soak, else one in three, another one for each `share`: the two official clients of chats and the loop
 * of an agent get every row, and other readers of the same normal form get rows in turn.
 */
function inTurn(share: 0 | 1 | 2): typeof oddities {
  return oddities.filter((_, index) => process.env['FLOTILLA_SOAK'] === '1' || index % 3 === share)
}

describe('an odd answer', () => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    // An answer without usage is booked at its highest possible cost, and there are hundreds of them, so the price
    // is low.
    const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
    gateway = await startLlmGateway('openai', model, { modelSettings: { price } })
  })
  afterAll(() => gateway.close())
  // Rows about accounts keep the provider from being asked again.
  beforeEach(() => gateway.newKey())

  /** Answers once with the oddity; a conversation with a tool result gets a plain answer. */
  function answerOddly({ wire, contentType, contentEncoding }: Oddity): void {
    const isJson = typeof wire === 'string' && /^\s*[[{]/.test(wire)
    const type = contentType ?? (isJson ? 'application/json' : 'text/event-stream')
    gateway.upstream.answerWith((call, response) => {
      if (finished.test(JSON.stringify(call.body))) return answerStream(call, response)
      const encoding = contentEncoding === undefined ? {} : { 'content-encoding': contentEncoding }
      response.writeHead(200, { 'content-type': type, ...encoding })
      response.end(wire)
    })
  }

  test.each(oddities)(
    'an odd answer reaches the official Anthropic client as a message, where $what',
    async (oddity) => {
      answerOddly(oddity)
      const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
      const answer = client.messages.stream({ model, max_tokens: 100, messages }).finalMessage()
      const { normal } = oddity
      if ('problem' in normal || isSilent(normal)) {
        await expect(answer).rejects.toBeInstanceOf(Anthropic.APIError)
        return
      }
      const message = await answer
      const words = message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')
      if (oddity.anthropicClient === 'sees the thinking as words') expect(words).toContain(normal.text)
      else expect(words).toBe(normal.text ?? '')
      expect(
        message.content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : [])),
      ).toEqual((normal.calls ?? []).map(([name, written]) => [name, inputOf(written)]))
      expect(message.stop_reason).toBe(stopReasons[normal.end ?? 'stop'])
      const ids = message.content.flatMap((block) => (block.type === 'tool_use' ? block.id : []))
      expect(new Set(ids).size).toBe(ids.length)
      for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    },
  )

  test.each(oddities)(
    'an odd answer reaches the official OpenAI client as its programs expect it, where $what',
    async (oddity) => {
      answerOddly(oddity)
      const { normal, wire, openAiClient } = oddity
      if (openAiClient === undefined) {
        // The bytes are unchanged, except that the usage is removed, which the client did not request.
        const reply = await fetch(`${gateway.rootUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
          body: JSON.stringify({ model, messages, stream: true }),
        })
        const body = await reply.text()
        if (reply.status !== 200) expect('problem' in normal || isSilent(normal)).toBe(true)
        else for (const line of linesOf(String(wire))) expect(body).toContain(line)
        return
      }
      const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
      const answer = client.chat.completions.stream({ model, messages }).finalChatCompletion()
      if (openAiClient === 'an error') {
        await expect(answer).rejects.toBeInstanceOf(OpenAI.OpenAIError)
        return
      }
      const [choice] = (await answer).choices
      const expected = normal as NormalAnswer
      expect(choice?.message.content ?? '').toBe(expected.text ?? '')
      expect((choice?.message.tool_calls ?? []).length).toBe((expected.calls ?? []).length)
    },
  )

  test.each(inTurn(0))(
    'an odd answer reaches the official OpenAI client as a response, streamed and whole, where $what',
    async (oddity) => {
      const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
      const request = { model, input: 'hi' }
      const { normal } = oddity
      for (const ask of [
        () => client.responses.stream(request).finalResponse(),
        () => client.responses.create(request),
      ]) {
        answerOddly(oddity)
        if ('problem' in normal || isSilent(normal)) {
          await expect(ask()).rejects.toBeInstanceOf(OpenAI.APIError)
          gateway.newKey()
          continue
        }
        const response = await ask()
        if (oddity.anthropicClient === 'sees the thinking as words')
          expect(response.output_text).toContain(normal.text)
        else expect(response.output_text).toBe(normal.text ?? '')
        expect(
          response.output.flatMap((item) =>
            item.type === 'function_call' ? [[item.name, item.arguments]] : [],
          ),
        ).toEqual(normal.calls ?? [])
        const isWhole = normal.end !== 'length' && normal.end !== 'content_filter'
        expect(response.status).toBe(isWhole ? 'completed' : 'incomplete')
        const ids = response.output.map((item) => ('id' in item ? item.id : ''))
        expect(new Set(ids).size).toBe(ids.length)
      }
    },
  )

  test.each(inTurn(1))(
    'an odd answer reaches the official Google client, streamed and whole, where $what',
    async (oddity) => {
      const client = new GoogleGenAI({ apiKey: 'scout', httpOptions: { baseUrl: gateway.rootUrl } })
      const request = { model, contents: 'hi', config: { maxOutputTokens: 100 } }
      const { normal } = oddity
      for (const ask of [
        async () => lastAndParts(await client.models.generateContentStream(request)),
        async () => lastAndParts([await client.models.generateContent(request)]),
      ]) {
        answerOddly(oddity)
        if ('problem' in normal || isSilent(normal)) {
          await expect(ask()).rejects.toBeInstanceOf(ApiError)
          gateway.newKey()
          continue
        }
        const { last, parts } = await ask()
        const text = parts.map((part) => part.text ?? '').join('')
        if (oddity.anthropicClient === 'sees the thinking as words') expect(text).toContain(normal.text)
        else expect(text).toBe(normal.text ?? '')
        expect(parts.flatMap(({ functionCall: call }) => (call ? [[call.name, call.args]] : []))).toEqual(
          (normal.calls ?? []).map(([name, written]) => [name, inputOf(written)]),
        )
        expect(last?.candidates?.[0]?.finishReason).toBe(finishReasons[normal.end ?? 'stop'])
        const ids = parts.flatMap(({ functionCall: call }) => (call ? [call.id] : []))
        expect(new Set(ids).size).toBe(ids.length)
      }
    },
  )

  test.each(inTurn(2))(
    'an odd answer is the same message where a whole answer was asked for: $what',
    async (oddity) => {
      answerOddly(oddity)
      const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
      const answer = client.messages.create({ model, max_tokens: 100, messages })
      const { normal } = oddity
      if ('problem' in normal || isSilent(normal)) {
        await expect(answer).rejects.toBeInstanceOf(Anthropic.APIError)
        return
      }
      const { content, stop_reason: reason } = await answer
      expect(content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')).toBe(
        normal.text ?? '',
      )
      expect(
        content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : [])),
      ).toEqual((normal.calls ?? []).map(([name, written]) => [name, inputOf(written)]))
      expect(reason).toBe(stopReasons[normal.end ?? 'stop'])
    },
  )

  test.each(inTurn(0))(
    'an odd answer is a chat completion for a program that asked for a whole one, where $what',
    async (oddity) => {
      answerOddly(oddity)
      const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
      const answer = client.chat.completions.create({ model, messages })
      const { normal } = oddity
      const failed = await answer.then(
        () => null,
        (error: unknown) => error,
      )
      if (failed !== null) {
        expect('problem' in normal || isSilent(normal)).toBe(true)
        expect(failed).toBeInstanceOf(OpenAI.APIError)
        return
      }
      // The choices are there; a whole answer that came as JSON is the provider's own.
      const { choices } = await answer
      expect(choices.length).toBeGreaterThan(0)
      if ('problem' in normal || String(oddity.wire).trimStart().startsWith('{')) return
      expect(choices[0]?.message.content ?? '').toBe(normal.text ?? '')
      expect((choices[0]?.message.tool_calls ?? []).length).toBe((normal.calls ?? []).length)
    },
  )

  test.each(oddities)(
    'an odd answer is created or reported by the loop of an agent, where $what',
    async (oddity) => {
      answerOddly(oddity)
      const made: unknown[] = []
      const look = defineTool({
        name: 'look',
        description: 'looks',
        parameters: { at: text('where', { maxChars: 100 }) },
        effect: 'none',
        timeoutMs: 5000,
        run: async (input) => succeeded(made.push(input)),
      })
      const { ended, state } = await runAgentAt(gateway.rootUrl, model, [look])
      const { normal } = oddity
      if ('problem' in normal) {
        expect(ended).toMatchObject({ kind: 'failed', code: normal.agentCode ?? normal.problem })
        // A prompt that is too long is reported by the context of the agent, in words of its own.
        if (normal.agentCode !== 'context-exhausted')
          expect(JSON.stringify(ended)).toContain(normal.says ?? '')
        return
      }
      if (!normal.calls) {
        if ((normal.text ?? '') === '') expect(ended).toMatchObject({ kind: 'failed', code: 'model-failed' })
        // A zero character is invisible, and prompts never contain one.
        else expect(ended).toEqual({ kind: 'answered', text: normal.text?.replaceAll('\0', '') })
        return
      }
      expect(ended).toEqual({ kind: 'answered', text: 'Hello there' })
      const usable = normal.calls.flatMap(([name, written]) => {
        const input = inputOf(written)
        return name === 'look' && isJsonObject(input) && typeof input['at'] === 'string' ? [input] : []
      })
      expect(made).toEqual(usable)
      expect(state.toolOutputs).toHaveLength(normal.calls.length)
      expect(state.toolOutputs.filter(({ ok }) => ok)).toHaveLength(usable.length)
    },
  )
})

/** Lines of the wire that the gateway passes on unchanged. */
function linesOf(wire: string): readonly string[] {
  return wire
    .split(/[\r\n]+/)
    .filter((line) => line.startsWith('data') && !/"usage":\{|"choices":\[\]/.test(line))
}
