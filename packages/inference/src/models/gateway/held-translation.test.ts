import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { startWireUpstream } from '../../../../../tests/support/wire-upstream.ts'
import { randomId, systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { createAiSdkProvider } from '../providers/ai-sdk-provider.ts'
import type { LlmProvider } from '../llm-provider.ts'
import { collect } from '../wire/collect-reply.ts'
import { formsOverChat } from '../providers/forms-over-chat.ts'

const { signal } = new AbortController()
const answer = JSON.stringify({
  choices: [{ message: { role: 'assistant', content: 'x'.repeat(5000) }, finish_reason: 'stop' }],
})

const chats: LlmProvider = {
  forms: new Set(['chat']),
  complete: async () => ({
    status: 200,
    contentType: 'application/json',
    retryAfterSeconds: null,
    body: (async function* () {
      yield Buffer.from(answer)
    })(),
    discard: () => {},
  }),
  modelNames: async () => [],
  close: async () => {},
}

const asked = (form: 'chat' | 'messages', model: string) => {
  const parameters = { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
  return {
    form,
    agentId: 'scout',
    model,
    stream: false,
    parameters,
    body: JSON.stringify({ model, ...parameters }),
  }
}

test('an answer that is translated is counted before it is, and both ways are on the share of the loop', async () => {
  let kept = 0
  let spent = 0
  const reply = await formsOverChat(chats, { clock: systemClock }).complete(asked('messages', 'm'), {
    signal,
    hold: (bytes) => void (kept += bytes),
    spend: (work) => {
      spent++
      return work()
    },
  })
  const spentBefore = spent
  expect(await collect(reply, undefined, (text) => text)).toContain('xxx')
  expect(kept).toBe(answer.length)
  expect(spent).toBeGreaterThan(spentBefore)
})

test('an answer that a package reads is counted, and one without room leaves no connection behind', async () => {
  const upstream = await startWireUpstream('mistral')
  const provider = createAiSdkProvider({
    kind: 'mistral',
    baseUrl: upstream.baseUrl,
    apiKey: createSecret('key', 'sk-upstream-key-0123456789'),
    aws: { region: 'us-east-1', accessKeyId: null, secretAccessKey: null, sessionToken: null },
    clock: systemClock,
    newId: randomId,
  })
  onTestFinished(async () => {
    await provider.close()
    await upstream.close()
  })
  const request = asked('chat', 'mistral-large-latest')
  let kept = 0
  await provider.complete(request, { signal, hold: (bytes) => void (kept += bytes) })
  expect(kept).toBeGreaterThan(100)
  const hold = () => {
    throw new Problem('rate-limited', { detail: 'too much is kept', retryAfterSeconds: 2 })
  }
  await expect(provider.complete(request, { signal, hold })).rejects.toMatchObject({ code: 'rate-limited' })
})
