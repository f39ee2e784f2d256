import { describe, expect, onTestFinished, test } from 'vitest'
import { startLlmGateway } from '../support/llm-gateway.ts'

const chat = (answer: object) => JSON.stringify({ id: 'c', object: 'chat.completion', ...answer })
const message = { role: 'assistant', content: 'Hello there' }
const asked = { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 1000 }

/** Whole answers with words, to which a provider adds no usage or one of zeros. */
const answers = {
  'anthropic/claude-sonnet-4-5': (usage: object) =>
    JSON.stringify({
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello there' }],
      stop_reason: 'end_turn',
      ...usage,
    }),
  'mistral/mistral-small-latest': (usage: object) =>
    chat({ choices: [{ index: 0, message, finish_reason: 'stop' }], ...usage }),
  'azure/gpt-4o': (usage: object) =>
    chat({ choices: [{ index: 0, message, finish_reason: 'stop' }], ...usage }),
  'cohere/command-a-03-2025': (usage: object) =>
    JSON.stringify({ id: 'm', message, finish_reason: 'COMPLETE', ...usage }),
} as const
const usages = [
  ['no usage', {}],
  [
    'a usage of zeros',
    { usage: { prompt_tokens: 0, completion_tokens: 0, input_tokens: 0, output_tokens: 0 } },
  ],
] as const

describe.each(Object.keys(answers) as (keyof typeof answers)[])('an answer of %s', (model) => {
  test.each(usages)(
    'with %s is booked at what it may cost at most, and is not free',
    async (_what, usage) => {
      const [kind = ''] = model.split('/')
      const gateway = await startLlmGateway(kind as 'mistral', model, {
        modelSettings: { price: { input_per_mtok: 1, output_per_mtok: 1 } },
      })
      onTestFinished(() => gateway.close())
      for (const stream of [false, true]) {
        const before = gateway.spentNano()
        gateway.upstream.answerWith((_call, response) => {
          response.writeHead(200, { 'content-type': 'application/json' }).end(answers[model](usage))
        })
        const reply = await fetch(`${gateway.rootUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: 'Bearer scout', 'content-type': 'application/json' },
          body: JSON.stringify({ model, stream, ...asked }),
        })
        expect(await reply.text()).toContain('Hello')
        // The bound of the answer alone is a thousand tokens of a thousand nano-dollars.
        expect(gateway.spentNano() - before).toBeGreaterThanOrEqual(1000 * 1000)
      }
    },
  )
})
