import { isJsonObject } from '@flotilla/protocol/is-json-object'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { wires } from '../support/model-wires.ts'
import { runAgentAt } from './agent-loop.ts'
import { bedrockStreams } from './bedrock-rows.ts'
import type { BinaryOddity } from './bedrock-rows.ts'
import { itemsOddities } from './items-rows.ts'
import { nativeOddities } from './native-rows.ts'
import { packagedOddities } from './packaged-rows.ts'

const models = {
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-flash',
  bedrock: 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
  // This model has no chat completions.
  responses: 'openai/gpt-5.1-codex',
  mistral: 'mistral/magistral-medium-2509',
  cohere: 'cohere/command-a-03-2025',
} as const

describe.each(Object.keys(models) as (keyof typeof models)[])('an odd answer on the wire of %s', (kind) => {
  const wire = wires[kind]
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
    gateway = await startLlmGateway(kind, models[kind], { modelSettings: { price } })
  })
  afterAll(() => gateway.close())
  // An account without credit keeps the model shut until the owner enters a key.
  beforeEach(() => gateway.newKey())

  const rows: readonly BinaryOddity[] = [
    ...nativeOddities,
    ...itemsOddities,
    ...bedrockStreams,
    ...packagedOddities,
  ].filter((row) => row.kind === kind)
  test.each(rows)(
    'an odd answer on a native wire is made or reported by the loop of an agent, where $what',
    async (oddity) => {
      const made: unknown[] = []
      gateway.upstream.answerWith((call, response) => {
        const isAnswered =
          /"role":"tool"|"tool_result"|"functionResponse"|"toolResult"|"function_call_output"/.test(
            JSON.stringify(call.body),
          )
        const { contentType = wire.streamType } = isAnswered ? {} : oddity
        response.writeHead(200, { 'content-type': contentType })
        if (!isAnswered) return void response.end(oddity.wire)
        for (const event of wire.events({ text: 'Hello there' })) response.write(wire.frame(event))
        response.end()
      })
      const look = defineTool({
        name: 'look',
        description: 'looks',
        parameters: { at: text('where', { maxChars: 100 }) },
        effect: 'none',
        timeoutMs: 5000,
        run: async (input) => succeeded(made.push(input)),
      })
      const { ended, state } = await runAgentAt(gateway.rootUrl, models[kind], [look])
      const { normal } = oddity
      if ('problem' in normal) {
        expect(ended).toMatchObject({ kind: 'failed', code: normal.problem })
        expect(JSON.stringify(ended)).toContain(normal.says ?? '')
        return
      }
      if (!normal.calls) {
        if ((normal.text ?? '') === '') expect(ended).toMatchObject({ kind: 'failed', code: 'model-failed' })
        else expect(ended).toEqual({ kind: 'answered', text: normal.text })
        return
      }
      expect(ended).toEqual({ kind: 'answered', text: 'Hello there' })
      const usable = normal.calls.flatMap(([name, written]) => {
        const input: unknown = JSON.parse(written)
        return name === 'look' && isJsonObject(input) && typeof input['at'] === 'string' ? [input] : []
      })
      expect(made).toEqual(usable)
      expect(state.toolOutputs).toHaveLength(normal.calls.length)
      const ids = state.messages.flatMap((one) =>
        one.role === 'assistant' ? one.toolCalls.map(({ id }) => id) : [],
      )
      expect(new Set(ids).size).toBe(ids.length)
    },
  )

  const whole = rows.filter(({ normal }) => !('problem' in normal) && (normal.text ?? '') !== '')
  test.each(whole)(
    'an odd answer on a native wire ends for the official OpenAI client as it ended, where $what',
    async ({ wire: odd, contentType = wire.streamType, normal }) => {
      gateway.upstream.answerWith((_call, response) => {
        response.writeHead(200, { 'content-type': contentType })
        response.end(odd)
      })
      const client = new OpenAI({ baseURL: `${gateway.rootUrl}/v1`, apiKey: 'scout', maxRetries: 0 })
      const messages = [{ role: 'user' as const, content: 'hi' }]
      const answer = await client.chat.completions
        .stream({ model: models[kind], messages })
        .finalChatCompletion()
      expect(answer.choices[0]?.finish_reason).toBe('end' in normal ? normal.end : 'stop')
    },
  )
})
