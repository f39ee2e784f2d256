import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { aModelPath } from '../../../../../tests/support/model-harness.ts'
import { answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const price = { input_per_mtok: 1, output_per_mtok: 2 }

/** A provider behind a firewall that refuses calls with the word `blocked`, and a second provider. */
async function aFirewall(refuse: (response: ServerResponse) => void, fallback: readonly string[]) {
  const [one, two] = [await startLlmUpstream(), await startLlmUpstream()]
  one.answerWith((call, response) => {
    if (JSON.stringify(call.body).includes('blocked')) refuse(response)
    else answerWhole(response)
  })
  two.answerWith((_call, response) => answerWhole(response))
  const provider = (baseUrl: string) => ({
    kind: 'openai-compatible',
    base_url: baseUrl,
    api_key: 'openai_api_key',
  })
  const clock = createManualClock()
  const models = ['one/*', 'two/*']
  const parts = aModelPath({
    agentModel: 'one/m',
    key: 'sk-test-key-0123456789',
    settings: {
      providers: { one: provider(one.baseUrl), two: provider(two.baseUrl) },
      models: { 'one/m': { price, fallback }, 'two/m': { price } },
      agents: { scout: { models }, other: { models }, third: { models } },
    },
    overrides: { clock, shownAfterMs: 600_000 },
  })
  closers.push(one.close, two.close, parts.close)
  const ask = async (agentId: string, content: string) => {
    const reply = await parts.complete(
      { kind: 'agent', agentId, token: 'program', run: null },
      {
        body: Buffer.from(
          JSON.stringify({ model: 'one/m', messages: [{ role: 'user', content }], max_tokens: 100 }),
        ),
        signal: AbortSignal.timeout(10_000),
      },
    )
    return `${reply.headers['x-flotilla-model']} ${reply.headers['x-flotilla-attempts']}`
  }
  return { one, two, clock, parts, ask }
}

const page = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'text/html' })
  response.end('<html><body><h1>Request blocked</h1>Your administrator was informed.</body></html>')
}
const json = (status: number, body: object) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const unproven = {
  '401 page': page(401),
  '402 page': page(402),
  '403 page': page(403),
  '403 empty': (response: ServerResponse) => void response.writeHead(403).end(),
  '403 text': (response: ServerResponse) => void response.writeHead(403).end('Forbidden'),
  '403 JSON without code': json(403, { message: 'Forbidden' }),
  '403 JSON with its status': json(403, { error: { code: 403, message: 'Request blocked by policy' } }),
  '407 page': page(407),
  '451 JSON': json(451, { error: { message: 'unavailable for legal reasons' } }),
  '200 with 403 in the body': json(200, { error: { code: 403, message: 'Request blocked' } }),
  '200 with words in the body': json(200, { error: { code: 429, message: "bad tool 'insufficient funds'" } }),
} as const

describe('a refusal that does not prove its cause', () => {
  test.each(Object.entries(unproven))(
    '%s: the calls of other agents still go to the model, also after a hundred refusals',
    async (_name, refuse) => {
      const { one, ask, parts } = await aFirewall(refuse, [])
      for (let count = 0; count < 100; count++)
        await expect(ask('scout', 'a blocked word')).rejects.toMatchObject({ extra: { provider: 'one' } })
      expect(one.calls).toHaveLength(100)
      expect(await ask('other', 'hi')).toBe('one/m 1')
      expect(await ask('scout', 'hi')).toBe('one/m 1')
      expect(parts.deps.watch.find('one/m')).toMatchObject({ health: { kind: 'ok' }, failed: 100 })
    },
  )

  test.each(Object.entries(unproven))(
    '%s: the fallback answers, the agent prefers it for a while, and other agents do not',
    async (_name, refuse) => {
      const { ask, clock } = await aFirewall(refuse, ['two/m'])
      expect(await ask('scout', 'a blocked word')).toBe('two/m 2')
      expect(await ask('scout', 'a blocked word')).toBe('two/m 1')
      expect(await ask('other', 'hi')).toBe('one/m 1')
      await clock.advance(120_000)
      expect(await ask('scout', 'hi')).toBe('one/m 1')
    },
  )

  test('cools the model for all agents if a second agent gets it, and its calls without fallback are still sent', async () => {
    const { ask, parts } = await aFirewall(unproven['403 page'], ['two/m'])
    await ask('scout', 'a blocked word')
    await ask('other', 'another blocked word')
    expect(parts.deps.watch.find('one/m')?.health).toMatchObject({ kind: 'cooling', isShut: false })
    expect(await ask('third', 'hi')).toBe('two/m 1')
    const alone = await aFirewall(unproven['403 page'], [])
    await expect(alone.ask('scout', 'blocked')).rejects.toMatchObject({ code: 'provider-refused' })
    await expect(alone.ask('other', 'blocked')).rejects.toMatchObject({ code: 'provider-refused' })
    expect(await alone.ask('third', 'hi')).toBe('one/m 1')
    expect(alone.parts.deps.watch.find('one/m')?.health.kind).toBe('ok')
  })

  test('a refusal with a known code still shuts the model for all agents at once', async () => {
    const refuse = json(403, { error: { code: 'unsupported_country_region_territory', message: 'no' } })
    const { one, ask } = await aFirewall(refuse, [])
    await expect(ask('scout', 'a blocked word')).rejects.toMatchObject({ code: 'provider-refused' })
    await expect(ask('other', 'hi')).rejects.toMatchObject({
      code: 'provider-refused',
      extra: { attempts: 0 },
    })
    expect(one.calls).toHaveLength(1)
  })
})
