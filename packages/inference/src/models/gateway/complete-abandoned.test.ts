import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { chunkEvent, usageEvent } from '../../../../../tests/support/llm-upstream.ts'
import type { LlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { completionBody, withModelPath } from '../../../../../tests/support/model-path.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'

const today = () => utcDay(Date.now())
const left = new Error('the client has gone')

/**
 * Generates everything it may and bills it, whether or not a client reads it, as every provider does. Returns the
 * bill in nano-dollars.
 */
function billing(upstream: LlmUpstream): { nano: number } {
  const bill = { nano: 0 }
  upstream.answerWith(async (call, response) => {
    const made = Number(call.body['max_tokens'])
    bill.nano += 60 * 150 + made * 600
    const usage = { prompt_tokens: 60, completion_tokens: made, total_tokens: 60 + made }
    if (call.body['stream'] === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ role: 'assistant', content: '' }))
      await sleep(30)
      response.write(chunkEvent({ content: 'thought' }, 'length'))
      response.write(usageEvent(usage))
      response.end('data: [DONE]\n\n')
    } else {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(
        '{"choices":[{"message":{"role":"assistant","content":"thought"},"finish_reason":"stop"}]',
      )
      await sleep(30)
      response.end(`,"usage":${JSON.stringify(usage)}}`)
    }
  })
  return bill
}

describe('a client that hangs up', () => {
  test.each([true, false])(
    'forty times in one cent gets no more than the cent, in truth (stream: %s)',
    async (stream) => {
      await withModelPath({ dailyUsd: 0.01 }, async ({ upstream, parts }) => {
        const bill = billing(upstream)
        for (let call = 0; call < 40; call++) {
          const leaving = new AbortController()
          const before = upstream.calls.length
          const asked = parts
            .complete(workerCaller, {
              body: completionBody({ stream, max_tokens: 1500 }),
              signal: leaving.signal,
            })
            .catch((error: unknown) => error)
          const over = new AbortController()
          void asked.finally(() => over.abort())
          while (!over.signal.aborted && upstream.calls.length === before) await sleep(1)
          leaving.abort(left)
          await asked
        }
        await expect.poll(() => parts.spent(agentScope('scout'), today()).openNano).toBe(0)
        expect(bill.nano).toBeGreaterThan(5_000_000)
        expect(bill.nano).toBeLessThanOrEqual(10_000_000)
        expect(parts.spent(agentScope('scout'), today()).spentNano).toBe(bill.nano)
      })
    },
  )
})

/** Booked calls, in the order in which they ended. */
function booked(parts: ReturnType<typeof aModelPath>) {
  parts.spending.flush()
  return parts.database
    .prepare(
      `SELECT unconfirmed AS why, cost_nano = reserved_nano AS whole FROM spend ORDER BY closed_at, id`,
    )
    .all()
    .map((row) => ({ ...row }))
}

/** Sends a call, and disconnects once the provider has received it. */
async function askAndLeave(
  { upstream, parts }: { upstream: LlmUpstream; parts: ReturnType<typeof aModelPath> },
  more: object,
): Promise<{ readonly closed: Promise<void> }> {
  const leaving = new AbortController()
  const before = upstream.calls.length
  const asked = parts
    .complete(workerCaller, { body: completionBody(more), signal: leaving.signal })
    .catch((error: unknown) => error)
  await expect.poll(() => upstream.calls.length).toBeGreaterThan(before)
  leaving.abort(left)
  await asked
  const call = upstream.calls.at(-1)
  if (call === undefined) throw new Error('the provider was not asked')
  return call
}

const streamed = { stream: true }

describe('a run whose agent has left a call', () => {
  test.each([{}, streamed])(
    'a run whose agent has left a call is no longer kept alive by it, while the rest of the answer is read (%j)',
    async (more) => {
      let held = 0
      const holdLease = () => {
        held++
        let isOpen = true
        return () => {
          if (isOpen) held--
          isOpen = false
        }
      }
      await withModelPath({ overrides: { holdLease }, readOnLimits: { closeMs: 50 } }, async (at) => {
        const leaving = new AbortController()
        at.upstream.answerWith(() => {})
        const asked = at.parts
          .complete(workerCaller, { body: completionBody(more), signal: leaving.signal })
          .catch((error: unknown) => error)
        await expect.poll(() => at.upstream.calls.length).toBe(1)
        expect(held).toBe(2)
        leaving.abort(left)
        await asked
        expect(at.parts.deps.readOn.openOf('scout')).toBe(1)
        expect(held).toBe(0)
        await at.parts.deps.readOn.close()
        expect(held).toBe(0)
      })
    },
  )
})

describe('an answer that nobody waits for', () => {
  test.each([{}, streamed])(
    'an abandoned answer is read for a bounded time, then cut off and booked whole (%j)',
    async (more) => {
      await withModelPath({ readOnLimits: { maxMs: 80 } }, async (at) => {
        at.upstream.answerWith(() => {})
        await (
          await askAndLeave(at, more)
        ).closed
        await expect.poll(() => booked(at.parts)).toEqual([{ why: 'read-on-time', whole: 1 }])
      })
    },
  )

  test('an abandoned answer is read for a bounded number of bytes also in one piece', async () => {
    await withModelPath({ readOnLimits: { maxBytes: 10_000 } }, async (at) => {
      at.upstream.answerWith(async (call, response) => {
        const hungUp = new AbortController()
        void call.closed.then(() => hungUp.abort())
        response.writeHead(200, { 'content-type': 'application/json' })
        while (!hungUp.signal.aborted) {
          response.write(' '.repeat(500))
          await sleep(1)
        }
      })
      await (
        await askAndLeave(at, {})
      ).closed
      await expect.poll(() => booked(at.parts)).toEqual([{ why: 'read-on-bytes', whole: 1 }])
    })
  })

  test('an abandoned answer is read for a bounded number of bytes', async () => {
    await withModelPath({ readOnLimits: { maxBytes: 10_000 } }, async (at) => {
      at.upstream.answerWith(async (call, response) => {
        const hungUp = new AbortController()
        void call.closed.then(() => hungUp.abort())
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        while (!hungUp.signal.aborted) {
          response.write(chunkEvent({ content: 'x'.repeat(500) }))
          await sleep(1)
        }
      })
      await (
        await askAndLeave(at, streamed)
      ).closed
      await expect.poll(() => booked(at.parts)).toEqual([{ why: 'read-on-bytes', whole: 1 }])
    })
  })

  test('an abandoned answer of a free model is recorded with at most the tokens that fit the window', async () => {
    const settings = { models: { 'openai/gpt-4o-mini': { local: true, context: 8000 } } }
    await withModelPath({ settings }, async (at) => {
      at.upstream.answerWith(() => {})
      await (
        await askAndLeave(at, { ...streamed, n: 16, max_tokens: 10_000_000 })
      ).closed
      const tokens = () => at.parts.spent(agentScope('scout'), today()).tokens
      await expect.poll(tokens).toBeGreaterThan(0)
      expect(tokens()).toBeLessThanOrEqual(17 * 8000)
    })
  })

  test('an abandoned answer is cut off at once if too many of its agent, or of all, are being read already', async () => {
    const bounds = { max: 128, perAgentMax: 16, floor: 2, reserveMax: 64 }
    for (const limit of [{ perAgentMax: 2 }, { max: 2, reserveMax: 2 }]) {
      await withModelPath({ readOnLimits: { share: { ...bounds, ...limit }, closeMs: 50 } }, async (at) => {
        at.upstream.answerWith(() => {})
        for (let call = 0; call < 2; call++) await askAndLeave(at, streamed)
        expect(at.parts.deps.readOn.openOf('scout')).toBe(2)
        await (
          await askAndLeave(at, streamed)
        ).closed
        await expect
          .poll(() => booked(at.parts).filter(({ why }) => why !== null))
          .toEqual([{ why: 'read-on-crowded', whole: 1 }])
        await at.parts.deps.readOn.close()
      })
    }
  })

  test('an abandoned answer is charged in full where each piece reports the usage so far', async () => {
    await withModelPath({ readOnLimits: { maxMs: 80 } }, async (at) => {
      at.upstream.answerWith((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }
        response.write(chunkEvent({ content: 'one' }, null, { usage }))
      })
      await (
        await askAndLeave(at, streamed)
      ).closed
      await expect.poll(() => booked(at.parts)).toEqual([{ why: 'read-on-time', whole: 1 }])
    })
  })

  test('an abandoned answer has a moment when the mesh stops, and is booked whole after it', async () => {
    await withModelPath({ readOnLimits: { closeMs: 100 } }, async (at) => {
      const answers: (() => void)[] = []
      at.upstream.answerWith((_call, response) => {
        answers.push(() => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.end(`${chunkEvent({ content: 'x' }, 'stop')}${usageEvent()}data: [DONE]\n\n`)
        })
      })
      await askAndLeave(at, streamed)
      await askAndLeave(at, streamed)
      const closing = at.parts.deps.readOn.close()
      answers[0]?.()
      await closing
      expect(booked(at.parts)).toEqual([
        { why: null, whole: 0 },
        { why: 'mesh-stopped', whole: 1 },
      ])
      expect(at.parts.deps.readOn.openOf('scout')).toBe(0)
    })
  })

  test('an abandoned answer of a free model is aborted at once', async () => {
    await withModelPath({ settings: { models: { 'openai/gpt-4o-mini': { local: true } } } }, async (at) => {
      at.upstream.answerWith(() => {})
      await (
        await askAndLeave(at, streamed)
      ).closed
      await expect.poll(() => at.parts.deps.readOn.openOf('scout')).toBe(0)
    })
  })
})

describe('an answer whose cost nobody can tell is booked as set aside, with the reason', () => {
  test.each([
    ['a stream without usage', streamed, `${chunkEvent({ content: 'x' }, 'stop')}data: [DONE]\n\n`],
    ['a whole answer without usage', {}, '{"choices":[{"message":{"content":"x"}}]}'],
  ] as const)('%s', async (_what, more, text) => {
    const why = 'no-usage'
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => {
        const type = more === streamed ? 'text/event-stream' : 'application/json'
        response.writeHead(200, { 'content-type': type })
        response.end(text)
      })
      const reply = await parts.complete(workerCaller, {
        body: completionBody(more),
        signal: new AbortController().signal,
      })
      if (!(reply.body instanceof Uint8Array)) await Array.fromAsync(reply.body)
      expect(booked(parts)).toEqual([{ why, whole: 1 }])
      const total = parts.spent(agentScope('scout'), today())
      expect(total.unconfirmedNano).toBe(total.spentNano)
      expect(parts.events.bodies).toMatchObject([{ type: 'model.called', unconfirmed: why }])
    })
  })

  test.each([
    ['a stream that breaks off', streamed, chunkEvent({ content: 'x' })],
    ['a whole answer that breaks off behind its headers', {}, '{"choices":['],
  ] as const)('%s', async (_what, more, text) => {
    await withModelPath({ overrides: { chance: () => 0 } }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => {
        response.writeHead(200, {
          'content-type': more === streamed ? 'text/event-stream' : 'application/json',
        })
        response.write(text, () => response.destroy())
      })
      await parts
        .complete(workerCaller, { body: completionBody(more), signal: new AbortController().signal })
        .then(async ({ body }) => (body instanceof Uint8Array ? body : await Array.fromAsync(body)))
        .catch((error: unknown) => error)
      const rows = booked(parts)
      expect(rows).toEqual(rows.map(() => ({ why: 'broken-off', whole: 1 })))
      expect(rows.length).toBeGreaterThan(0)
    })
  })
})
