import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Clock } from '@flotilla/protocol/clock'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aModelPath, startLlmServer, workerCaller } from '../../../../../tests/support/model-harness.ts'
import type { LlmParts, LlmPartsOptions } from '../../../../../tests/support/model-harness.ts'
import {
  answerStream,
  answerWhole,
  chunkEvent,
  refuse,
  startLlmUpstream,
  usageEvent,
} from '../../../../../tests/support/llm-upstream.ts'
import type { LlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import type { CompletionReply } from './answer-reply.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Waits between attempts are skipped and remembered; the silence watch still sleeps. */
function hurried() {
  const waitsMs: number[] = []
  const clock: Clock = {
    now: () => systemClock.now(),
    sleep: async (ms, signal) => {
      if (ms > 50 && ms <= 10_000) waitsMs.push(ms)
      await systemClock.sleep(ms > 10_000 ? ms : 1, signal)
    },
  }
  return { waitsMs, clock }
}

const price = { input_per_mtok: 1, output_per_mtok: 2 }

interface Chain {
  readonly parts: LlmParts
  readonly upstreams: Record<'one' | 'two' | 'three', LlmUpstream>
  readonly waitsMs: readonly number[]
  readonly calls: () => number[]
  readonly ask: (more?: object, signal?: AbortSignal) => Promise<CompletionReply>
  readonly spent: () => ReturnType<LlmParts['spent']>
  readonly health: (id: string) => string | undefined
  /** Returns whether `one/m` has a cooldown for this agent, and for another agent. */
  readonly cools: () => readonly boolean[]
}

/** Three providers with a model each: `one/m` falls back to `two/m`, then to `three/m`. */
async function aChain(options: LlmPartsOptions = {}): Promise<Chain> {
  const upstreams = {
    one: await startLlmUpstream(),
    two: await startLlmUpstream(),
    three: await startLlmUpstream(),
  }
  const provider = (upstream: LlmUpstream) => ({ kind: 'openai-compatible', base_url: upstream.baseUrl })
  const { clock, waitsMs } = hurried()
  const parts = aModelPath({
    agentModel: 'one/m',
    ...options,
    settings: {
      providers: {
        one: provider(upstreams.one),
        two: provider(upstreams.two),
        three: provider(upstreams.three),
      },
      models: {
        'one/m': { price, fallback: ['two/m', 'three/m'] },
        'two/m': { price },
        'three/m': { price },
      },
      agents: { scout: { models: ['two/m', 'three/m'] } },
      ...options.settings,
    },
    // Longer than any test takes, so that only waits between attempts sleep.
    overrides: { clock, shownAfterMs: 600_000, ...options.overrides },
  })
  closers.push(...Object.values(upstreams).map((upstream) => upstream.close), parts.close)
  const names = ['one', 'two', 'three'] as const
  return {
    parts,
    upstreams,
    waitsMs,
    calls: () => names.map((name) => upstreams[name].calls.length),
    ask: (more = {}, signal = new AbortController().signal) => {
      const body = { model: 'one/m', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100, ...more }
      return parts.complete(workerCaller, { body: Buffer.from(JSON.stringify(body)), signal })
    },
    spent: () => parts.spent(agentScope('scout'), utcDay(Date.now())),
    health: (id) => parts.deps.watch.find(id)?.health.kind,
    cools: () => {
      const model = parts.catalog.find({ provider: 'one', model: 'm' })
      return ['scout', 'other'].map((agentId) => parts.deps.watch.coolDownLeftMs(model, agentId) > 0)
    },
  }
}

async function textOf({ body }: CompletionReply): Promise<string> {
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  return Buffer.concat(await Array.fromAsync(body)).toString()
}

const whole = (upstream: LlmUpstream) => upstream.answerWith((_call, response) => answerWhole(response))
const refusing = (upstream: LlmUpstream, status: number, headers: Record<string, string> = {}) =>
  upstream.answerWith((_call, response) => refuse(response, status, { message: 'no', headers }))
const streaming = { stream: true }

describe('a chain of three models', () => {
  test('503 once is healed by the same model', async () => {
    heedsLesson(128)
    const { upstreams, ask, calls, health, spent } = await aChain()
    let times = 0
    upstreams.one.answerWith((_call, response) => {
      times += 1
      if (times === 1) refuse(response, 503)
      else answerWhole(response)
    })
    const reply = await ask()
    expect(reply.headers).toMatchObject({ 'x-flotilla-model': 'one/m', 'x-flotilla-attempts': '2' })
    expect(calls()).toEqual([2, 0, 0])
    expect(health('one/m')).toBe('ok')
    expect(spent()).toMatchObject({ calls: 1, openNano: 0 })
  })

  test.each([
    { status: 400, code: 'model-call-rejected' },
    { status: 404, code: 'model-unknown' },
    { status: 413, code: 'model-call-rejected' },
    { status: 422, code: 'model-call-rejected' },
  ])('$status once is reported and never repeated or passed on', async ({ status, code }) => {
    heedsLesson(128)
    const { upstreams, ask, calls, health, spent } = await aChain()
    refusing(upstreams.one, status)
    await expect(ask()).rejects.toMatchObject({
      code,
      extra: { provider_status: status, attempts: 1, error: { attempts: 1 } },
    })
    expect(calls()).toEqual([1, 0, 0])
    expect(health('one/m')).toBeUndefined()
    expect(spent()).toMatchObject({ spentNano: 0, openNano: 0, calls: 0 })
  })

  test('a prompt that is too long is too long, whatever status says so', async () => {
    const { upstreams, ask, calls } = await aChain()
    upstreams.one.answerWith((_call, response) =>
      refuse(response, 500, { message: 'maximum context length is 8192 tokens' }),
    )
    await expect(ask()).rejects.toMatchObject({ code: 'prompt-too-long', extra: { refused_by: 'one/m' } })
    expect(calls()).toEqual([1, 0, 0])
  })

  test('two that are down lead to the third, and are left alone from then on', async () => {
    const { upstreams, ask, calls, health, parts, spent } = await aChain()
    refusing(upstreams.one, 503)
    await upstreams.two.close()
    whole(upstreams.three)
    const reply = await ask()
    expect(reply.headers).toMatchObject({ 'x-flotilla-model': 'three/m', 'x-flotilla-attempts': '7' })
    expect(JSON.parse(await textOf(reply))).toMatchObject({ model: 'm' })
    expect([health('one/m'), health('two/m'), health('three/m')]).toEqual(['cooling', 'cooling', 'ok'])
    expect(spent()).toMatchObject({ calls: 1, openNano: 0 })

    expect((await ask()).headers).toMatchObject({ 'x-flotilla-model': 'three/m', 'x-flotilla-attempts': '1' })
    expect(calls()).toEqual([3, 0, 2])
    expect(parts.events.bodies.filter(({ type }) => type === 'model.cooling')).toMatchObject([
      { model: 'one/m', code: 'upstream-failed', failures: 1 },
      { model: 'two/m', code: 'provider-unreachable', failures: 1 },
    ])
  })

  test('a refused key leads on at once', async () => {
    const { upstreams, ask, calls } = await aChain()
    refusing(upstreams.one, 401)
    whole(upstreams.two)
    await ask()
    expect(calls()).toEqual([1, 1, 0])
  })

  test('a rate limit with a long Retry-After leads on, and cools for as long as it says', async () => {
    const { upstreams, ask, calls, parts, waitsMs } = await aChain()
    refusing(upstreams.one, 429, { 'retry-after': '30' })
    whole(upstreams.two)
    await ask()
    expect(calls()).toEqual([1, 1, 0])
    expect(waitsMs).toEqual([])
    expect(parts.events.bodies).toContainEqual(
      expect.objectContaining({ type: 'model.cooling', seconds: 30 }),
    )
  })

  test('when all cool the least remaining is tried', async () => {
    const { upstreams, ask, calls, health } = await aChain()
    refusing(upstreams.one, 401)
    refusing(upstreams.two, 429, { 'retry-after': '20' })
    refusing(upstreams.three, 403)
    await expect(ask()).rejects.toMatchObject({ extra: { attempts: 3 } })
    expect(calls()).toEqual([1, 1, 1])
    whole(upstreams.two)
    expect((await ask()).headers).toMatchObject({ 'x-flotilla-model': 'two/m' })
    expect(calls()).toEqual([1, 2, 1])
    expect(health('two/m')).toBe('ok')
  })

  test('a fallback of the owner answers for an agent that may not request it', async () => {
    const { upstreams, ask, calls } = await aChain({ settings: { agents: {} } })
    refusing(upstreams.one, 401)
    whole(upstreams.two)
    expect((await ask()).headers['x-flotilla-model']).toBe('two/m')
    expect(calls()).toEqual([1, 1, 0])
    await expect(ask({ model: 'two/m' })).rejects.toMatchObject({ code: 'model-not-allowed' })
  })

  test('a model that searches the web or without a provider is never a fallback', async () => {
    const settings = {
      models: {
        'one/m': { price, fallback: ['two/m-search-preview', 'nowhere/m', 'three/m'] },
        'two/m-search-preview': { price },
        'three/m': { price },
      },
      agents: { scout: { models: ['nowhere/*'] } },
    }
    const { upstreams, ask, calls } = await aChain({ settings })
    refusing(upstreams.one, 401)
    whole(upstreams.three)
    expect((await ask()).headers['x-flotilla-model']).toBe('three/m')
    expect(calls()).toEqual([1, 0, 1])
    expect(upstreams.three.calls[0]?.body['model']).toBe('m')
  })

  test('a fallback model that the budget does not cover is skipped, and nothing is overspent', async () => {
    const dear = { input_per_mtok: 50_000, output_per_mtok: 50_000 }
    const settings = {
      models: {
        'one/m': { price, fallback: ['two/m', 'three/m'] },
        'two/m': { price: dear },
        'three/m': { price },
      },
    }
    const { upstreams, ask, calls, spent } = await aChain({ settings, dailyUsd: 0.5 })
    refusing(upstreams.one, 503)
    whole(upstreams.three)
    expect((await ask()).headers['x-flotilla-model']).toBe('three/m')
    expect(calls()).toEqual([3, 0, 1])
    expect(spent()).toMatchObject({ calls: 1, openNano: 0 })
    refusing(upstreams.three, 503)
    await expect(ask()).rejects.toMatchObject({ code: 'upstream-failed' })
    expect(spent().openNano).toBe(0)
  })

  test('parallel calls that all fall back to a dearer model never overspend', async () => {
    const settings = {
      models: {
        'one/m': { price, fallback: ['two/m'] },
        'two/m': { price: { input_per_mtok: 10, output_per_mtok: 20 } },
      },
    }
    const { upstreams, ask, spent } = await aChain({ settings, dailyUsd: 0.02 })
    refusing(upstreams.one, 401)
    upstreams.two.answerWith((call, response) => {
      const asked = Number(call.body['max_tokens'])
      response.writeHead(200, { 'content-type': 'application/json' })
      const usage = { prompt_tokens: 50, completion_tokens: asked }
      response.end(JSON.stringify({ choices: [{ message: { content: 'x' } }], usage }))
    })
    const settled = await Promise.allSettled(Array.from({ length: 30 }, () => ask()))
    expect(settled.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect(settled.some(({ status }) => status === 'rejected')).toBe(true)
    expect(spent().spentNano).toBeLessThanOrEqual(20_000_000)
    expect(spent().openNano).toBe(0)
  })
})

describe('an empty answer', () => {
  test('an empty answer counts as a failure of the model, whole or streamed, and the next answers', async () => {
    heedsLesson(103)
    for (const more of [{}, streaming]) {
      const { upstreams, ask, calls, cools, spent } = await aChain()
      upstreams.one.answerWith((_call, response) => {
        if (more === streaming) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.end(
            `${chunkEvent({ role: 'assistant', content: '' }, 'stop')}${usageEvent()}data: [DONE]\n\n`,
          )
        } else answerWhole(response, { role: 'assistant', content: '' })
      })
      const reply = await ask(more)
      expect(await textOf(reply)).toContain('Hello')
      expect(reply.headers['x-flotilla-model']).toBe('two/m')
      expect(calls()).toEqual([3, 1, 0])
      expect(cools()).toEqual([true, false])
      // The usage of the empty answers is paid, too.
      expect(spent()).toMatchObject({ calls: 4, openNano: 0 })
    }
  })

  test('an empty answer of the only model is reported as empty', async () => {
    const { upstreams, ask } = await aChain({ settings: { models: { 'one/m': { price } } } })
    upstreams.one.answerWith((_call, response) => answerWhole(response, { role: 'assistant', content: null }))
    await expect(ask()).rejects.toMatchObject({ code: 'model-failed', extra: { attempts: 3 } })
  })

  test('an answer truncated by the limit of the caller is an answer', async () => {
    const { upstreams, ask, calls } = await aChain()
    upstreams.one.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ choices: [{ message: { content: '' }, finish_reason: 'length' }] }))
    })
    expect((await ask()).status).toBe(200)
    expect(calls()).toEqual([1, 0, 0])
  })
})

describe('a stream', () => {
  test('a stream that has sent a token is never repeated: one call, one typed error', async () => {
    heedsLesson(86)
    const { upstreams, ask, calls, cools, spent } = await aChain()
    upstreams.one.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ content: 'Hel' }), () => response.destroy())
    })
    const text = await textOf(await ask(streaming))
    expect(text).toContain('Hel')
    expect(text).toMatch(/data: \{"error":\{[^\n]*"code":"upstream-failed","attempts":1\}\}\n\n$/)
    expect(calls()).toEqual([1, 0, 0])
    expect(cools()).toEqual([true, false])
    expect(spent()).toMatchObject({ calls: 1, openNano: 0 })
    expect(spent().spentNano).toBeGreaterThan(0)
  })

  test('a stream that breaks before its first token is replaced by one of another provider', async () => {
    const { upstreams, ask, calls } = await aChain()
    upstreams.one.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ role: 'assistant', content: '' }), () => response.destroy())
    })
    const reply = await ask(streaming)
    const text = await textOf(reply)
    expect(text).toContain('Hello')
    expect(text).not.toContain('error')
    expect(reply.headers['x-flotilla-model']).toBe('two/m')
    expect(calls()).toEqual([3, 1, 0])
  })

  test('a stream that the provider closes unread is charged its reservation, as a whole answer is', async () => {
    for (const more of [{}, streaming]) {
      const { upstreams, ask, spent } = await aChain({ settings: { models: { 'one/m': { price } } } })
      upstreams.one.answerWith((_call, response) => void response.destroy())
      await expect(ask(more)).rejects.toMatchObject({ code: 'upstream-failed', extra: { attempts: 3 } })
      const promptNano = spent().spentNano - 3 * 200_000
      expect(promptNano).toBeGreaterThan(0)
      expect(promptNano).toBeLessThan(3 * 200_000)
      const { spentNano } = spent()
      expect(spent()).toMatchObject({ calls: 3, openNano: 0, unconfirmedNano: spentNano })
    }
  })

  test('a stream whose headers were sent before an answer names the answering model in a comment', async () => {
    const { upstreams, ask } = await aChain({ overrides: { keepAliveMs: 20 } })
    const slow = Promise.withResolvers<() => void>()
    upstreams.one.answerWith((call, response) => slow.resolve(() => answerStream(call, response)))
    const reply = await ask(streaming)
    expect(reply.headers).not.toHaveProperty('x-flotilla-model')
    const reading = textOf(reply)
    ;(await slow.promise)()
    const text = await reading
    expect(text).toContain(': keep-alive\n\n')
    expect(text).toContain(': x-flotilla-model: one/m, x-flotilla-attempts: 1\n\n')
    expect(text).toContain('Hello')
  })
})

describe('a client that goes', () => {
  test.each([
    ['whole', {}],
    ['streamed', streaming],
  ])(
    'a client that goes while the provider thinks ends the %s call there too after a while, settled',
    async (_how, more) => {
      const { upstreams, parts, spent, calls } = await aChain({ readOnLimits: { maxMs: 50 } })
      const reached = Promise.withResolvers<{ closed: Promise<void> }>()
      upstreams.one.answerWith((call) => reached.resolve(call))
      const gateway = await startLlmServer(parts.complete)
      const leaving = new AbortController()
      const body = { model: 'one/m', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100, ...more }
      const call = fetch(`${gateway.baseUrl}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: leaving.signal,
      })
      const { closed } = await reached.promise
      leaving.abort()
      await expect(call).rejects.toThrow(/abort/i)
      await closed
      await expect.poll(() => spent().openNano).toBe(0)
      expect(spent().unconfirmedNano).toBe(spent().spentNano)
      expect(spent().spentNano).toBeGreaterThanOrEqual(200_000)
      expect(calls()).toEqual([1, 0, 0])
      await gateway.close()
    },
  )

  test('a client that goes between two attempts ends the call unpaid', async () => {
    const leaving = new AbortController()
    const clock: Clock = {
      now: () => systemClock.now(),
      sleep: (ms, signal) => {
        if (ms > 300 && ms < 700) leaving.abort(new Error('the client has gone'))
        return systemClock.sleep(ms, signal)
      },
    }
    const { upstreams, ask, spent, calls } = await aChain({ overrides: { clock } })
    refusing(upstreams.one, 503)
    await expect(ask({}, leaving.signal)).rejects.toThrow('the client has gone')
    expect(calls()).toEqual([1, 0, 0])
    expect(spent()).toMatchObject({ spentNano: 0, openNano: 0 })
  })
})

test('a refused connection is reported without a cost', async () => {
  const dead = createServer().listen(0, '127.0.0.1')
  await once(dead, 'listening')
  const { port } = dead.address() as AddressInfo
  dead.close()
  await once(dead, 'close')
  const { ask, spent, waitsMs } = await aChain({
    settings: {
      providers: { one: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${port}/v1` } },
      models: { 'one/m': { price } },
    },
  })
  await expect(ask()).rejects.toMatchObject({ code: 'provider-unreachable', extra: { attempts: 3 } })
  expect(waitsMs.length).toBe(2)
  expect(waitsMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(3125)
  expect(spent()).toMatchObject({ spentNano: 0, openNano: 0, calls: 0 })
})
