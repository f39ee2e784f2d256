import Anthropic from '@anthropic-ai/sdk'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../support/llm-gateway.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { wires } from '../support/model-wires.ts'
import type { Turn } from '../support/wire-turn.ts'
import { runAgentAt } from './agent-loop.ts'

const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
const model = 'claude-sonnet-4-5'
const names = ['anthropic', 'zai'] as const
type Name = (typeof names)[number]

/** Two servers of Anthropic's API: each signs its thinking, and knows no signature of the other. */
describe('thinking that one server of the Messages API has signed', () => {
  const servers = {} as Record<Name, LlmUpstream>
  let gateway: LlmGatewayUnderTest
  /** The servers that answer with a status of overload. */
  let isDown: Set<Name>

  beforeEach(async () => {
    isDown = new Set()
    for (const name of names) {
      servers[name] = await startLlmUpstream()
      answerAs(name)
    }
    const provider = (name: Name) => ({
      kind: 'anthropic',
      base_url: servers[name].baseUrl,
      api_key: 'openai_api_key',
    })
    gateway = await startLlmGateway('anthropic', `anthropic/${model}`, {
      models: [`anthropic/${model}`, `zai/${model}`],
      settings: {
        default_model: `anthropic/${model}`,
        providers: { anthropic: provider('anthropic'), zai: provider('zai') },
        models: {
          [`anthropic/${model}`]: { price, fallback: [`zai/${model}`] },
          [`zai/${model}`]: { price, fallback: [`anthropic/${model}`] },
        },
      },
    })
  })
  afterEach(async () => {
    await gateway.close()
    for (const name of names) await servers[name].close()
  })

  function answerAs(name: Name): void {
    let count = 0
    servers[name].answerWith((call, response) => {
      if (isDown.has(name)) {
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end(JSON.stringify(wires.anthropic.refusal(401, 'no')))
        return
      }
      const thought = { text: `${name} thinks`, signature: `signedby${name}${count}` }
      const id = `toolu_${name}_${count++}`
      const turn: Turn = { thought, call: { id, name: 'look', input: { at: 'a' } } }
      // The block without words comes first, and its data are bound like a signature.
      const redacted = { type: 'redacted_thinking', data: `sealedby${name}` }
      if (call.body['stream'] === true) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const [start, ...rest] = wires.anthropic.events(turn) as JsonObject[]
        const later = rest.map((event) =>
          typeof event['index'] === 'number' ? { ...event, index: event['index'] + 1 } : event,
        )
        const first = [
          { type: 'content_block_start', index: 0, content_block: redacted },
          { type: 'content_block_stop', index: 0 },
        ]
        for (const event of [start, ...first, ...later])
          response.write(wires.anthropic.frame(event as object))
        response.end()
        return
      }
      const whole = wires.anthropic.whole(turn) as { content: object[] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...whole, content: [redacted, ...whole.content] }))
    })
  }

  function sentTo(name: Name): string {
    return servers[name].calls.at(-1)?.text ?? ''
  }

  test.each([true, false])(
    'signed thinking is returned only to the server that signed it through the Messages API, streamed: %s',
    async (stream) => {
      const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: 'scout', maxRetries: 0 })
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }]
      async function round(of: Name): Promise<void> {
        const asked = { model: `${of}/${model}`, max_tokens: 2000, messages }
        const answer = stream
          ? await client.messages.stream(asked).finalMessage()
          : await client.messages.create(asked)
        const calls = answer.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
        messages.push({ role: 'assistant', content: answer.content })
        messages.push({
          role: 'user',
          content: calls.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })),
        })
      }
      await round('zai')
      await round('anthropic')
      expect(sentTo('anthropic')).not.toMatch(/(?:signed|sealed)byzai/)
      expect(sentTo('anthropic')).toContain('toolu_zai_0')
      await round('zai')
      expect(sentTo('zai')).toContain('"signature":"signedbyzai0"')
      expect(sentTo('zai')).toContain('"data":"sealedbyzai"')
      expect(sentTo('zai')).not.toMatch(/(?:signed|sealed)byanthropic/)
      await round('anthropic')
      expect(sentTo('anthropic')).toContain('"signature":"signedbyanthropic0"')
      expect(sentTo('anthropic')).toContain('"data":"sealedbyanthropic"')
      expect(sentTo('anthropic')).not.toMatch(/(?:signed|sealed)byzai/)
    },
  )

  test('signed thinking is returned only to the server that signed it in the loop of an agent, also after a fallback', async () => {
    let rounds = 0
    const look = defineTool({
      name: 'look',
      description: 'looks',
      parameters: { at: text('where', { maxChars: 100 }) },
      effect: 'none',
      timeoutMs: 5000,
      run: async () => {
        rounds++
        // The first round is answered by zai, the second by anthropic, the third by zai again.
        if (rounds === 1) {
          isDown = new Set(['zai'])
          gateway.newKey()
        } else if (rounds === 2) {
          isDown = new Set(['anthropic'])
          gateway.newKey()
        } else if (rounds === 3) {
          for (const name of names)
            servers[name].answerWith((_call, response) => {
              response.writeHead(200, { 'content-type': 'text/event-stream' })
              for (const event of wires.anthropic.events({ text: 'Hello there' }))
                response.write(wires.anthropic.frame(event))
              response.end()
            })
        }
        return succeeded('seen')
      },
    })
    isDown = new Set(['anthropic'])
    const { ended } = await runAgentAt(gateway.rootUrl, `zai/${model}`, [look])
    expect(ended).toEqual({ kind: 'answered', text: 'Hello there' })
    expect(rounds).toBe(3)
    const asked = names.flatMap((name) => servers[name].calls.map((call) => [name, call.text] as const))
    for (const [name, body] of asked) {
      const other = name === 'zai' ? 'anthropic' : 'zai'
      expect(body).not.toMatch(new RegExp(`(?:signed|sealed)by${other}`))
    }
    expect(asked.some(([name, body]) => name === 'anthropic' && body.includes('toolu_zai_0'))).toBe(true)
    expect(sentTo('zai')).toContain('"signature":"signedbyzai0"')
    expect(sentTo('zai')).toContain('toolu_anthropic_0')
  })
})
