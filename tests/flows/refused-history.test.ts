import { expect, it, onTestFinished } from 'vitest'
import { answerStream, refuse, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

async function aMesh(upstream: LlmUpstream) {
  onTestFinished(() => upstream.close())
  const mesh = await startMeshForTest({
    settings: {
      default_model: 'lab/reader',
      providers: { lab: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
    },
  })
  const ask = async (said: string) => (await mesh.ask(said, { session: 'one' })).outcome
  return { mesh, ask }
}

/** A provider that rejects every conversation for which the condition holds. */
function refusing(upstream: LlmUpstream, is: (call: UpstreamCall) => boolean, message: string): void {
  upstream.answerWith((call, response) =>
    is(call) ? refuse(response, 400, { message }) : answerStream(call, response),
  )
}

const messagesOf = (call: UpstreamCall) => call.body['messages'] as readonly { content: unknown }[]
/** True if the messages after the instructions contain the word. */
const says = (word: string) => (call: UpstreamCall) =>
  messagesOf(call)
    .slice(1)
    .some(({ content }) => JSON.stringify(content).includes(word))

it('a conversation whose history was rejected is repaired once, and its next message is accepted', async () => {
  const upstream = await startLlmUpstream()
  const { ask } = await aMesh(upstream)
  expect(await ask('remember the zebra')).toMatchObject({ status: 'done' })

  refusing(
    upstream,
    says('zebra'),
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
  )
  const before = upstream.calls.length
  expect(await ask('hello')).toMatchObject({ status: 'done' })
  expect(upstream.calls.length - before).toBeLessThanOrEqual(3)
  const repaired = upstream.calls.length
  expect(await ask('and again')).toMatchObject({ status: 'done' })
  expect(upstream.calls.length - repaired).toBe(1)
  expect(JSON.stringify(upstream.calls.at(-1)?.body)).toContain(
    'The model provider rejected the earlier messages',
  )
})

it('a message that stays refused ends its turn in words that say what to do, and the next one is answered', async () => {
  const upstream = await startLlmUpstream()
  const { ask } = await aMesh(upstream)
  expect(await ask('good day')).toMatchObject({ status: 'done' })

  refusing(upstream, says('zebra'), 'The prompt was flagged as a violation; content management policy.')
  const before = upstream.calls.length
  const refused = await ask('tell me of the zebra')
  expect(refused).toMatchObject({ status: 'failed', code: 'history-refused' })
  expect(refused?.text).toMatch(/removed from it\. Rephrase it.*\/reset.*flagged/s)
  expect(upstream.calls.length - before).toBeLessThanOrEqual(3)

  const failed = upstream.calls.length
  expect(await ask('then of something else')).toMatchObject({ status: 'done' })
  expect(upstream.calls.length - failed).toBe(1)
  expect(JSON.stringify(upstream.calls.at(-1)?.body)).toContain('good day')
})

it('an account without credit is asked once, and the person reads where to add some', async () => {
  const upstream = await startLlmUpstream()
  const { ask } = await aMesh(upstream)
  upstream.answerWith((_call, response) => {
    response.writeHead(429, { 'content-type': 'application/json' })
    const error = {
      message: 'You exceeded your current quota.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }
    response.end(JSON.stringify({ error }))
  })
  const first = await ask('hello')
  expect(first).toMatchObject({ status: 'failed', code: 'provider-quota-exhausted' })
  expect(first?.text).toMatch(/out of credit: add credit at .* or set another model/)
  expect(await ask('hello again')).toMatchObject({ status: 'failed', code: 'provider-quota-exhausted' })
  expect(upstream.calls).toHaveLength(1)
})
