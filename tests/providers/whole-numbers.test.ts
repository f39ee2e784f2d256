import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import { describe, expect, onTestFinished, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { runAgentAt } from './agent-loop.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import { wires } from '../support/model-wires.ts'

const kinds = ['openai', 'anthropic', 'google', 'mistral', 'cohere', 'bedrock', 'azure', 'responses'] as const
const models = {
  openai: 'lab/m',
  anthropic: 'anthropic/claude-haiku-4-5',
  google: 'google/gemini-2.5-flash',
  mistral: 'mistral/mistral-large-latest',
  cohere: 'cohere/command-a-03-2025',
  bedrock: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0',
  azure: 'azure/gpt-4o',
  responses: 'openai/gpt-5.1-codex',
} as const

const written = '9007199254740993'
const { rawJSON } = JSON as unknown as { rawJSON(text: string): never }
/** Numbers that JavaScript would print as `1`, `2.5`, `100` and `0`. */
const shares = '"share":1.0,"parts":[2.50,1E2,-0.0]'
const input = {
  city: rawJSON(written),
  share: rawJSON('1.0'),
  parts: [rawJSON('2.50'), rawJSON('1E2'), rawJSON('-0.0')],
}
const call = { id: 'call00001', name: 'get_weather', input }
const numbers = /9007199254740\d*/g

function bodyOf(surface: 'chat' | 'messages', model: string, stream: boolean): string {
  const schema = { type: 'object', properties: { city: { type: 'integer', maximum: rawJSON(written) } } }
  const common = { model, stream, max_tokens: 100 }
  return surface === 'chat'
    ? JSON.stringify({
        ...common,
        messages: [
          { role: 'user', content: 'weather' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: JSON.stringify(input) },
              },
            ],
          },
          { role: 'tool', tool_call_id: call.id, content: 'rain' },
        ],
        tools: [{ type: 'function', function: { name: call.name, parameters: schema } }],
      })
    : JSON.stringify({
        ...common,
        messages: [
          { role: 'user', content: 'weather' },
          { role: 'assistant', content: [{ type: 'tool_use', ...call }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'rain' }] },
        ],
        tools: [{ name: call.name, input_schema: schema }],
      })
}

describe.each(kinds)('numbers in arguments and a model on the wire of %s', (kind) => {
  const wire = wires[kind === 'azure' ? 'openai' : kind]
  test.each([
    ['chat', true],
    ['chat', false],
    ['messages', true],
    ['messages', false],
  ] as const)(
    'numbers in arguments pass as they were written through %s, stream %s',
    async (surface, stream) => {
      const gateway = await startLlmGateway(kind === 'azure' ? 'openai' : kind, models[kind])
      onTestFinished(() => gateway.close())
      let asked = ''
      gateway.upstream.answerWith((request, response) => {
        asked = request.text
        const streams = request.body['stream'] === true || /stream/i.test(request.path)
        response.writeHead(200, { 'content-type': streams ? wire.streamType : 'application/json' })
        if (!streams) return void response.end(JSON.stringify(wire.whole({ call })))
        for (const event of wire.events({ call })) response.write(wire.frame(event))
        response.end(wire === wires.openai || wire === wires.mistral ? 'data: [DONE]\n\n' : '')
      })
      const reply = await fetch(
        `${gateway.rootUrl}/v1/${surface === 'chat' ? 'chat/completions' : 'messages'}`,
        {
          method: 'POST',
          headers: {
            authorization: 'Bearer scout',
            'x-api-key': 'scout',
            'content-type': 'application/json',
          },
          body: bodyOf(surface, models[kind], stream),
        },
      )
      const text = (await reply.text()).replaceAll('\\"', '"')
      expect(text).toContain(shares)
      expect(asked.replaceAll('\\"', '"')).toContain(shares)
      expect(text.match(numbers)).toEqual([written])
      // The number is in the earlier call, and in the schema of the tool.
      expect(asked.match(numbers)).toEqual([written, written])
    },
  )
})

describe.each(kinds)('numbers in the schema of a tool of an agent on the wire of %s', (kind) => {
  const wire = wires[kind === 'azure' ? 'openai' : kind]
  /** Numbers that only mean the same as they are written; those beyond a float's range pass no package of a provider. */
  const members =
    kind === 'openai' ? '"maximum":9007199254740993,"enum":[-1e400,1e400]' : '"maximum":9007199254740993'

  test('numbers in the schema of a tool of an agent reach the provider as the server of the tool wrote them', async () => {
    const gateway = await startLlmGateway(kind === 'azure' ? 'openai' : kind, models[kind])
    onTestFinished(() => gateway.close())
    gateway.upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': wire.streamType })
      for (const event of wire.events({ text: 'Hello there' })) response.write(wire.frame(event))
      response.end()
    })
    const tool = defineTool({
      name: 'look',
      description: 'looks',
      parameters: { at: text('where', { maxChars: 100 }) },
      effect: 'none',
      timeoutMs: 5000,
      run: async () => succeeded('seen'),
    })
    const schema = `{"type":"object","properties":{"at":{"type":"number",${members}}}}`
    const parameters = parseAsWritten(schema) as ToolDefinition['parameters']
    const offered = { ...tool, definition: { ...tool.definition, parameters } }
    const { ended } = await runAgentAt(gateway.rootUrl, models[kind], [offered])
    expect(ended).toMatchObject({ kind: 'answered' })
    expect(gateway.upstream.calls[0]?.text).toContain(members)
  })
})
