import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import type { CompletionReply } from './answer-reply.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const price = { input_per_mtok: 1, output_per_mtok: 2 }

/**
 * Two providers with one model each, and a clock that only the test advances: a wait between attempts would never
 * end.
 */
async function aPair(fallback: readonly string[]) {
  const [one, two] = [await startLlmUpstream(), await startLlmUpstream()]
  const clock = createManualClock()
  const provider = (baseUrl: string) => ({
    kind: 'openai-compatible',
    base_url: baseUrl,
    api_key: 'openai_api_key',
  })
  const parts = aModelPath({
    agentModel: 'one/m',
    key: 'sk-test-key-0123456789',
    settings: {
      providers: { one: provider(one.baseUrl), two: provider(two.baseUrl) },
      models: { 'one/m': { price, fallback }, 'two/m': { price } },
      agents: { scout: { models: ['two/m'] } },
    },
    overrides: { clock, shownAfterMs: 600_000 },
  })
  closers.push(one.close, two.close, parts.close)
  return {
    one,
    two,
    clock,
    parts,
    ask: (): Promise<CompletionReply> => {
      const body = { model: 'one/m', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 }
      const signal = AbortSignal.timeout(10_000)
      return parts.complete(workerCaller, { body: Buffer.from(JSON.stringify(body)), signal })
    },
  }
}

const refuseWith = (response: ServerResponse, status: number, error: object) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error }))
}
const noCredit = {
  message: 'You exceeded your current quota',
  type: 'insufficient_quota',
  code: 'insufficient_quota',
}

describe('a refusal that stays', () => {
  test.each([
    { status: 402, code: 'provider-quota-exhausted', error: { message: 'Insufficient Balance' } },
    { status: 429, code: 'provider-quota-exhausted', error: noCredit },
    {
      status: 400,
      code: 'provider-quota-exhausted',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' },
    },
    { status: 404, code: 'model-unknown', error: { message: 'gone', code: 'model_not_found' } },
    {
      status: 429,
      code: 'prompt-too-long',
      error: {
        message: 'Request too large for m on tokens per min (TPM): Limit 3000, Requested 4000.',
        code: 'rate_limit_exceeded',
      },
    },
    { status: 200, code: 'provider-quota-exhausted', error: { message: 'Insufficient credits', code: 402 } },
  ])(
    '$status $error.message leads to the next provider at once, and is reported if no other provider answers',
    async (refused) => {
      const { one, two, ask } = await aPair(['two/m'])
      one.answerWith((_call, response) => refuseWith(response, refused.status, refused.error))
      two.answerWith((_call, response) => answerWhole(response))
      const answered = await ask()
      expect(answered.headers).toMatchObject({ 'x-flotilla-model': 'two/m', 'x-flotilla-attempts': '2' })
      two.answerWith((_call, response) => refuseWith(response, refused.status, refused.error))
      await expect(ask()).rejects.toMatchObject({ code: refused.code })
    },
  )

  test('a rejected account is not called until its cooldown ends, is retried then, and recovers', async () => {
    const { one, ask, clock, parts } = await aPair([])
    one.answerWith((_call, response) => refuseWith(response, 429, noCredit))
    await expect(ask()).rejects.toMatchObject({
      code: 'provider-quota-exhausted',
      detail: expect.stringMatching(/out of credit: add credit at .* or set another model/) as unknown,
      extra: { attempts: 1 },
    })
    for (let count = 0; count < 5; count++) {
      await expect(ask()).rejects.toMatchObject({
        code: 'provider-quota-exhausted',
        detail: expect.stringContaining('does not call this model again for 30 s') as unknown,
        extra: { attempts: 0 },
      })
    }
    expect(one.calls).toHaveLength(1)
    await clock.advance(30_000)
    await expect(ask()).rejects.toMatchObject({ code: 'provider-quota-exhausted' })
    expect(one.calls).toHaveLength(2)
    one.answerWith((_call, response) => answerWhole(response))
    await clock.advance(60_000)
    expect((await ask()).status).toBe(200)
    expect(parts.deps.watch.find('one/m')?.health.kind).toBe('ok')
  })

  test('a refusal that stays is forgotten at once with a new key', async () => {
    const { one, ask, parts } = await aPair([])
    one.answerWith((_call, response) => refuseWith(response, 401, { message: 'Incorrect API key provided' }))
    await expect(ask()).rejects.toMatchObject({ code: 'provider-refused' })
    await expect(ask()).rejects.toMatchObject({ code: 'provider-refused' })
    expect(one.calls).toHaveLength(1)
    one.answerWith((_call, response) => answerWhole(response))
    parts.newKey()
    expect((await ask()).status).toBe(200)
  })

  test('a rejection by a content filter does not affect the key: no cooldown, and no fallback', async () => {
    const { one, two, ask, parts } = await aPair(['two/m'])
    const metadata = { reasons: ['violence'], flagged_input: 'hi' }
    one.answerWith((_call, response) =>
      refuseWith(response, 403, { code: 403, message: 'Your input was flagged', metadata }),
    )
    await expect(ask()).rejects.toMatchObject({
      code: 'history-refused',
      extra: { part: 'content', refused_by: 'one/m', attempts: 1 },
    })
    expect(two.calls).toHaveLength(0)
    expect(parts.deps.watch.find('one/m')).toBeNull()
  })

  test('a rejection that the provider calls final is not retried', async () => {
    const { one, ask } = await aPair([])
    one.answerWith((_call, response) => {
      response.writeHead(503, { 'content-type': 'application/json', 'x-should-retry': 'false' })
      response.end('{}')
    })
    await expect(ask()).rejects.toMatchObject({ code: 'upstream-failed', extra: { attempts: 1 } })
  })
})
