import { expect, onTestFinished, test } from 'vitest'
import { text } from '../../packages/agent/src/tools/parameters.ts'
import { defineTool, succeeded } from '../../packages/agent/src/tools/tool.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'
import { wires } from '../support/model-wires.ts'
import { runAgentAt } from './agent-loop.ts'

type Item = Readonly<Record<string, unknown>>

const sealed = (id: string): Item => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: `sealed-${id}`,
})
const called = (id: string): Item => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'look',
  arguments: '{"at":"a"}',
  status: 'completed',
})
const look = defineTool({
  name: 'look',
  description: 'looks',
  parameters: { at: text('where', { maxChars: 100 }) },
  effect: 'none',
  timeoutMs: 5000,
  run: async () => succeeded('seen'),
})

/** OpenAI as an account without storage has it: each answer is one of `answers`, or a refusal. */
async function anOpenAi(answers: readonly (readonly Item[] | string)[]) {
  const model = 'openai/gpt-5-mini'
  const gateway = await startLlmGateway('responses', model, {
    modelSettings: { price: { input_per_mtok: 0.001, output_per_mtok: 0.001 } },
  })
  onTestFinished(() => gateway.close())
  let count = 0
  gateway.upstream.answerWith((_call, response) => {
    const answer = answers[count++]
    if (typeof answer === 'string') {
      response.writeHead(400, { 'content-type': 'application/json' })
      const error = { message: answer, type: 'invalid_request_error', param: null }
      return void response.end(JSON.stringify({ error: { ...error, code: 'invalid_encrypted_content' } }))
    }
    response.writeHead(200, { 'content-type': wires.responses.streamType })
    if (answer === undefined) {
      for (const event of wires.responses.events({ text: 'Hello there' }))
        response.write(wires.responses.frame(event))
      return void response.end()
    }
    for (const [output_index, item] of answer.entries())
      response.write(wires.responses.frame({ type: 'response.output_item.done', output_index, item }))
    const usage = { input_tokens: 1, output_tokens: 1 }
    response.write(wires.responses.frame({ type: 'response.completed', response: { output: answer, usage } }))
    return void response.end()
  })
  const run = () => runAgentAt(gateway.rootUrl, model, [look])
  const inputs = () => gateway.upstream.calls.map(({ body }) => body['input'] as readonly Item[])
  return { run, inputs }
}

test('encrypted thinking of OpenAI is sent back in the loop of an agent, at its place between the calls', async () => {
  const { run, inputs } = await anOpenAi([[sealed('1'), called('a'), sealed('2'), called('b'), sealed('3')]])
  expect((await run()).ended).toEqual({ kind: 'answered', text: 'Hello there' })
  const [, second = []] = inputs()
  expect(second.slice(-6).map((item) => item['encrypted_content'] ?? item['call_id'])).toEqual([
    'sealed-1',
    'a',
    'sealed-2',
    'b',
    'a',
    'b',
  ])
})

test('thinking that OpenAI cannot verify is left out once, and the run goes on', async () => {
  const { run, inputs } = await anOpenAi([
    [sealed('1'), called('a')],
    'The encrypted content for item rs_0f26baa4a8bfec6b0169326d7c20a8819499e6d836076cc00b could not be verified.',
  ])
  expect((await run()).ended).toEqual({ kind: 'answered', text: 'Hello there' })
  const sent = inputs().map((items) => items.some(({ type }) => type === 'reasoning'))
  expect(sent).toEqual([false, true, false])
})
