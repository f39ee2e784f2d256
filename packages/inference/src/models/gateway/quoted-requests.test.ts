import { afterEach, describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { aModelPath } from '../../../../../tests/support/model-harness.ts'
import { answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import type { Caller } from '../../../../identity/src/access/index.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const price = { input_per_mtok: 1, output_per_mtok: 2 }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'program', run: null })

interface Body {
  readonly tools?: readonly { readonly function: { readonly parameters: { readonly type: string } } }[]
}

/** Three models of one server that rejects all tools and quotes the type of their parameters in its error. */
async function aServer(errorOf: (type: string) => { readonly status: number; readonly body: unknown }) {
  const upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    const type = (call.body as Body).tools?.[0]?.function.parameters.type
    if (type === undefined) return answerWhole(response)
    const { status, body } = errorOf(type)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const parts = aModelPath({
    agentModel: 'one/a',
    key: 'sk-test-key-0123456789',
    settings: {
      providers: {
        one: { kind: 'openai-compatible', base_url: upstream.baseUrl, api_key: 'openai_api_key' },
      },
      models: { 'one/a': { price, fallback: ['one/b', 'one/c'] }, 'one/b': { price }, 'one/c': { price } },
      agents: { scout: { models: ['one/*'] }, other: { models: ['one/*'] } },
    },
    overrides: { clock: createManualClock(), shownAfterMs: 600_000 },
  })
  closers.push(upstream.close, parts.close)
  const ask = (agentId: string, more: object = {}) =>
    parts.complete(agent(agentId), {
      body: Buffer.from(
        JSON.stringify({
          model: 'one/a',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 100,
          ...more,
        }),
      ),
      signal: AbortSignal.timeout(10_000),
    })
  return { upstream, parts, ask }
}

const toolOf = (type: string) => ({
  tools: [{ type: 'function', function: { name: 'look', parameters: { type, properties: {} } } }],
})

/** How servers quote a value: as Python, as JSON, in HTML, in part, and with its own words around it. */
const quoting = {
  jsonschema: (type: string) => `'${type}' is not valid under any of the given schemas - 'tools.0.type'`,
  pydantic: (type: string) =>
    `[{'type': 'literal_error', 'loc': ('body', 'tools', 0, 'type'), 'msg': "Input should be 'function'", 'input': {'type': '${type}'}}]`,
  json: (type: string) => `invalid tool ${JSON.stringify({ type })}`,
  markup: (type: string) => `bad type &quot;${type.replaceAll("'", '&#39;')}&quot;`,
  shouting: (type: string) => `UNKNOWN TOOL ${type.toUpperCase()}`,
  start: (type: string) => type.slice(0, 60),
} as const

const phrases = [
  'insufficient funds',
  'your card was declined (insufficient funds)',
  'Your GitHub account has been suspended',
  'no such model',
  'the model x does not exist',
  'limit of 100 requests per day',
  'the engine is overloaded',
  'at capacity',
  'free-models-per-day',
  'rate limit exceeded, try again in 100 s',
] as const

describe('an error that quotes the words of one agent', () => {
  test.each(
    Object.entries(quoting).flatMap(([name, quote]) =>
      phrases.map((phrase) => [name, phrase, quote] as const),
    ),
  )('%s: "%s" does not affect the calls of another agent', async (_name, phrase, quote) => {
    const { upstream, parts, ask } = await aServer((type) => ({
      status: 400,
      body: { error: { message: quote(type), type: 'invalid_request_error' } },
    }))
    await expect(ask('scout', toolOf(phrase))).rejects.toMatchObject({
      code: 'model-call-rejected',
      extra: { provider_status: 400 },
    })
    for (const model of ['one/a', 'one/b', 'one/c'])
      expect(parts.deps.watch.find(model)?.health.kind ?? 'ok', model).toBe('ok')
    const asked = upstream.calls.length
    const honest = await ask('other')
    expect(honest.headers).toMatchObject({ 'x-flotilla-model': 'one/a', 'x-flotilla-attempts': '1' })
    expect(upstream.calls).toHaveLength(asked + 1)
  })

  test.each([422, 404, 403, 429, 500])(
    'does not tell the state of the account with status %i',
    async (status) => {
      const { parts, ask } = await aServer((type) => ({
        status,
        body: { error: { message: quoting.jsonschema(type) } },
      }))
      const error = await ask('scout', toolOf('insufficient funds')).catch((cause: unknown) => cause)
      expect(error).not.toMatchObject({ code: 'provider-quota-exhausted' })
      const { lastError } = parts.deps.watch.find('one/a') ?? {}
      expect(lastError?.code).not.toBe('provider-quota-exhausted')
    },
  )

  test('ends the effect of words that the server changed with the call that caused them', async () => {
    const { upstream, ask, parts } = await aServer((type) => ({
      status: 400,
      body: { error: { message: `unknown type: ${Buffer.from(type, 'base64').toString('utf8')}` } },
    }))
    const hidden = Buffer.from('insufficient funds').toString('base64')
    await expect(ask('scout', toolOf(hidden))).rejects.toMatchObject({ code: 'provider-quota-exhausted' })
    expect(upstream.calls).toHaveLength(3)
    expect(parts.deps.watch.find('one/a')).toMatchObject({ health: { kind: 'ok' }, failed: 1 })
    expect((await ask('other')).headers).toMatchObject({ 'x-flotilla-attempts': '1' })
  })

  test('does not hide a code of the provider', async () => {
    const { upstream, ask } = await aServer((type) => ({
      status: 429,
      body: { error: { message: quoting.jsonschema(type), code: 'insufficient_quota' } },
    }))
    await expect(ask('scout', toolOf('insufficient funds'))).rejects.toMatchObject({
      code: 'provider-quota-exhausted',
    })
    const asked = upstream.calls.length
    await expect(ask('other')).rejects.toMatchObject({ code: 'provider-quota-exhausted' })
    expect(upstream.calls).toHaveLength(asked)
  })
})

test('an account that cannot pay for one large answer still pays for smaller ones', async () => {
  const { ask } = await aServer(() => ({
    status: 402,
    body: {
      error: {
        code: 402,
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 1200.',
      },
    },
  }))
  await expect(ask('scout', toolOf('large'))).rejects.toMatchObject({ code: 'provider-quota-exhausted' })
  expect((await ask('other')).headers).toMatchObject({ 'x-flotilla-attempts': '1' })
})
