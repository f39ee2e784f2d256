import type { JsonObject } from '@flotilla/protocol/json-value'
import { expect, onTestFinished, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import { answerStream } from '../support/llm-upstream.ts'
import { runAgentAt } from './agent-loop.ts'
import { documentedFaults } from './documented-rules.ts'
import { call, chunk, done, endOfCalls } from './oddity.ts'

const look = defineTool({
  name: 'look',
  description: 'looks',
  parameters: { at: text('where', { maxChars: 100 }) },
  effect: 'none',
  timeoutMs: 5000,
  run: async ({ at }) => succeeded(at),
})

const model = 'lab/qwen3'

/**
 * Answers of an owner's server: with thinking, calls numbered from 0 in each answer, invented names and halves of
 * characters.
 */
const oddAnswers = [
  chunk({ reasoning_content: 'first ' }) +
    chunk({ reasoning_content: 'look' }) +
    call({ index: 0, id: 'call_0', function: { name: 'look', arguments: '{"at":"a"}' } }) +
    endOfCalls +
    done,
  call({ index: 0, id: 'call_0', function: { name: 'look.at the sky', arguments: '{"at":"b"}' } }) +
    endOfCalls +
    done,
  chunk({ content: ' ' }) +
    `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"look","arguments":"{\\"at\\":\\"\\\\ud83d\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n` +
    done,
  call({ index: 0, id: 'call_0', function: { name: 'look', arguments: '{"at":' } }) + endOfCalls + done,
]

test('a conversation that has had every oddity is one that a strict reader takes, round by round', async () => {
  const price = { input_per_mtok: 0.001, output_per_mtok: 0.001 }
  const gateway = await startLlmGateway('openai', model, { modelSettings: { price } })
  onTestFinished(() => gateway.close())
  const faults: string[] = []
  const asked: JsonObject[][] = []
  gateway.upstream.answerWith((request, response) => {
    const messages = request.body['messages'] as JsonObject[]
    faults.push(...documentedFaults(messages, 'vllm'))
    asked.push(messages)
    const answer = oddAnswers[asked.length - 1]
    if (answer === undefined) return answerStream(request, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(answer)
  })
  const { ended, state } = await runAgentAt(gateway.rootUrl, model, [look])
  expect(ended).toEqual({ kind: 'answered', text: 'Hello there' })
  expect(faults).toEqual([])
  expect(asked).toHaveLength(5)
  expect(asked[1]?.find(({ role }) => role === 'assistant')).toMatchObject({
    reasoning_content: 'first look',
  })
  // Earlier messages are not changed later; otherwise no provider could cache them.
  for (const [index, messages] of asked.slice(1).entries())
    expect(messages.slice(0, asked[index]?.length)).toEqual(asked[index])
  expect(state.toolOutputs.map(({ ok }) => ok)).toEqual([true, false, true, false])
})
