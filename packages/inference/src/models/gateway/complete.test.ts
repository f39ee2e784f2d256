import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import {
  answerStream,
  answerWhole,
  chunkEvent,
  refuse,
  startLlmUpstream,
  usageEvent,
} from '../../../../../tests/support/llm-upstream.ts'
import { completionBody, wholeText, withModelPath } from '../../../../../tests/support/model-path.ts'
import type { Guard } from '../../../../identity/src/access/action.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'

/** A clock that skips the waits of a backoff. */
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: (ms, signal) => systemClock.sleep(ms > 5000 ? ms : 1, signal),
}

function refusing(problem: Problem): Guard {
  return () => {
    throw problem
  }
}

const open = () => new AbortController().signal

describe('a completion', () => {
  test('a completion is refused by the guard before anything is read', async () => {
    const guard = refusing(new Problem('denied', { detail: 'allowed_apis does not list llm' }))
    await withModelPath({ overrides: { guard } }, async ({ parts }) => {
      const call = parts.complete(workerCaller, { body: new Uint8Array([1]), signal: open() })
      await expect(call).rejects.toMatchObject({
        code: 'denied',
        extra: { error: { message: 'allowed_apis does not list llm' } },
      })
    })
  })

  test('a completion is made for agents only', async () => {
    await withModelPath({}, async ({ parts }) => {
      const call = parts.complete(
        { kind: 'human', role: 'owner', channel: 'cli' },
        { body: completionBody(), signal: open() },
      )
      await expect(call).rejects.toMatchObject({ code: 'denied' })
    })
  })

  test.each([
    ['no JSON', new TextEncoder().encode('{'), 'bad-json'],
    ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'bad-json'],
    ['an array', new TextEncoder().encode('[]'), 'bad-request'],
    ['no messages', new TextEncoder().encode('{"model":"m"}'), 'bad-request'],
    ['a negative bound', completionBody({ max_tokens: -5 }), 'bad-request'],
    ['a broken bound', completionBody({ max_tokens: 1.5 }), 'bad-request'],
    ['too many answers', completionBody({ n: 1000 }), 'bad-request'],
    ['an unknown model', completionBody({ model: 'other/m' }), 'model-not-allowed'],
    ['too much', new Uint8Array(wireLimits.modelBodyMaxBytes + 1), 'body-too-large'],
  ])('a completion of %s is refused', async (_what, body, code) => {
    await withModelPath({}, async ({ parts }) => {
      await expect(parts.complete(workerCaller, { body, signal: open() })).rejects.toMatchObject({ code })
    })
  })

  test('a completion is tried again after 503 and 429, and succeeds', async () => {
    const statuses = [503, 429]
    await withModelPath({ overrides: { clock: hurried } }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => {
        const status = statuses.shift()
        if (status === undefined) answerWhole(response)
        else refuse(response, status)
      })
      const reply = await parts.complete(workerCaller, { body: completionBody(), signal: open() })
      expect(reply.status).toBe(200)
      expect(upstream.calls).toHaveLength(3)
      expect(parts.spent(agentScope('scout'), utcDay(Date.now()))).toMatchObject({
        calls: 1,
        openNano: 0,
      })
    })
  })

  test('a completion is tried three times and then fails, unpaid', async () => {
    await withModelPath({ overrides: { clock: hurried } }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => refuse(response, 500, { message: 'oops' }))
      const call = parts.complete(workerCaller, { body: completionBody(), signal: open() })
      await expect(call).rejects.toMatchObject({
        code: 'upstream-failed',
        detail: 'openai answered 500: oops',
      })
      expect(upstream.calls).toHaveLength(3)
      expect(parts.spent(agentScope('scout'), utcDay(Date.now()))).toMatchObject({
        calls: 0,
        openNano: 0,
      })
    })
  })

  test('a completion of an unreachable provider reports that it is unreachable', async () => {
    const upstream = await startLlmUpstream()
    await upstream.close()
    const parts = aModelPath({ baseUrl: upstream.baseUrl, overrides: { clock: hurried } })
    const call = parts.complete(workerCaller, { body: completionBody(), signal: open() })
    await expect(call).rejects.toMatchObject({ code: 'provider-unreachable' })
    await parts.close()
  })

  test('a slow completion starts with comments and still reports a rejection', async () => {
    const clock = createManualClock()
    await withModelPath({ overrides: { clock } }, async ({ upstream, parts }) => {
      const asked = Promise.withResolvers<(status: number) => void>()
      upstream.answerWith((_call, response) =>
        asked.resolve((status) => refuse(response, status, { message: 'no' })),
      )
      const replying = parts.complete(workerCaller, {
        body: completionBody({ stream: true }),
        signal: open(),
      })
      const finish = await asked.promise
      await clock.advance(wireLimits.keepAliveMs)
      const body = (await replying).body as AsyncIterable<Uint8Array>
      const reader = body[Symbol.asyncIterator]()
      for (let silences = 0; silences < 3; silences++) {
        expect(new TextDecoder().decode((await reader.next()).value as Uint8Array)).toBe(': keep-alive\n\n')
        if (silences < 2) await clock.advance(wireLimits.keepAliveMs)
      }
      finish(404)
      expect(new TextDecoder().decode((await reader.next()).value as Uint8Array)).toContain(
        '"code":"model_not_found"',
      )
      expect((await reader.next()).done).toBe(true)
      expect(parts.spent(agentScope('scout'), utcDay(clock.now()))).toMatchObject({
        spentNano: 0,
        openNano: 0,
      })
    })
  })

  test('a completion renews the lease of its run while it is open, and stops at its end', async () => {
    let held = 0
    const holdLease = () => {
      held++
      return () => {
        held--
      }
    }
    await withModelPath({ overrides: { holdLease } }, async ({ upstream, parts }) => {
      upstream.answerWith(answerStream)
      const reply = await parts.complete(workerCaller, {
        body: completionBody({ stream: true }),
        signal: open(),
      })
      expect(held).toBe(1)
      await wholeText(reply.body)
      expect(held).toBe(0)
    })
  })

  test('a completion is announced with its tokens and cost', async () => {
    await withModelPath({}, async ({ parts }) => {
      await parts.complete(workerCaller, { body: completionBody(), signal: open() })
      parts.spending.flush()
      expect(parts.events.bodies).toMatchObject([
        {
          type: 'model.called',
          agent_id: 'scout',
          model: 'openai/gpt-4o-mini',
          tokens: 12,
          cost_usd: 0.0000027,
        },
      ])
    })
  })

  test('a completion is settled before the client reads the end of its stream', async () => {
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`${chunkEvent({ content: 'x' }, 'stop')}${usageEvent()}data: [DONE]\n\n`)
      })
      const reply = await parts.complete(workerCaller, {
        body: completionBody({ stream: true }),
        signal: open(),
      })
      const seen: { text: string; openNano: number }[] = []
      for await (const chunk of reply.body as AsyncIterable<Uint8Array>) {
        const total = parts.spent(agentScope('scout'), utcDay(Date.now()))
        seen.push({ text: new TextDecoder().decode(chunk), openNano: total.openNano })
      }
      expect(seen.find(({ text }) => text.includes('[DONE]'))?.openNano).toBe(0)
    })
  })
})
