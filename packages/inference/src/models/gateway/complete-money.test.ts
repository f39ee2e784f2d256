import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  aModelPath,
  migrated,
  startLlmServer,
  workerCaller,
} from '../../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { answerStream, answerWhole, chunkEvent, refuse } from '../../../../../tests/support/llm-upstream.ts'
import { completionBody, wholeText, withModelPath } from '../../../../../tests/support/model-path.ts'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { createComplete } from './complete.ts'
import { createOpenAiCompatibleProvider } from '../providers/openai-compatible-provider.ts'
import type { ModelName } from '../catalog/resolve-model.ts'
import { agentScope, runScope, utcDay } from '../../spending/sum-scopes.ts'

const today = () => utcDay(Date.now())

const open = () => new AbortController().signal

describe('money on the model path', () => {
  test('fifty parallel streams with one cent left never spend more than the cent', async () => {
    verifies('limits:budget-daily:before-dispatch')
    await withModelPath({ dailyUsd: 0.01 }, async ({ upstream, parts }) => {
      upstream.answerWith((call, response) => {
        const asked = Number(call.body['max_tokens'])
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const usage = { prompt_tokens: 50, completion_tokens: asked, total_tokens: 50 + asked }
        response.end(
          `${chunkEvent({ content: 'x' }, 'length')}${chunkEvent({}, null, { choices: [], usage })}data: [DONE]\n\n`,
        )
      })
      const calls = Array.from({ length: 50 }, async () => {
        const reply = await parts.complete(workerCaller, {
          body: completionBody({ stream: true }),
          signal: open(),
        })
        return wholeText(reply.body)
      })
      const settled = await Promise.allSettled(calls)
      const refused = settled
        .filter((call) => call.status === 'rejected')
        .map((call) => call.reason as unknown)
      const total = parts.spent(agentScope('scout'), today())
      expect(total.spentNano).toBeLessThanOrEqual(10_000_000)
      expect(total.spentNano).toBeGreaterThan(9_000_000)
      expect(total.openNano).toBe(0)
      expect(refused.length).toBeGreaterThan(0)
      expect(refused[0]).toMatchObject({
        code: 'budget-exhausted',
        extra: { budget: 'daily', limit_usd: 0.01 },
      })
      expect(upstream.calls).toHaveLength(50 - refused.length)
    })
  })

  test('a budget that is used up refuses before anything leaves', async () => {
    verifies('limits:budget-daily:before-dispatch')
    await withModelPath({ dailyUsd: 0.00001 }, async ({ upstream, parts }) => {
      await expect(
        parts.complete(workerCaller, { body: completionBody(), signal: open() }),
      ).rejects.toMatchObject({
        code: 'budget-exhausted',
        extra: { spent_usd: 0, error: { code: 'budget-exhausted' } },
      })
      expect(upstream.calls).toHaveLength(0)
    })
  })

  test('the monthly budget rejects a call although the daily budget has plenty, and admits it in the next month', async () => {
    verifies('limits:budget-monthly:before-dispatch')
    const clock = createManualClock('2026-11-30T23:59:00Z')
    const options = { dailyUsd: 10, monthlyUsd: 0.0000499, overrides: { clock } }
    await withModelPath(options, async ({ upstream, parts }) => {
      const ask = () =>
        parts.complete(workerCaller, { body: completionBody({ max_tokens: 2 }), signal: open() })
      upstream.answerWith((_call, response) => answerWhole(response))
      let answered = 0
      const askUntilRefused = async () => {
        for (; answered < 100; answered += 1) await ask()
      }
      const refusal = { code: 'budget-exhausted', extra: { budget: 'monthly', limit_usd: 0.0000499 } }
      await expect(askUntilRefused()).rejects.toMatchObject(refusal)
      expect(upstream.calls.length).toBeGreaterThan(5)
      // The refused call was not sent to the provider, and no later call is.
      const before = upstream.calls.length
      expect(answered).toBe(before)
      await expect(ask()).rejects.toMatchObject(refusal)
      expect(upstream.calls).toHaveLength(before)
      expect(parts.spent(agentScope('scout'), '2026-11').spentNano).toBeLessThanOrEqual(49_900)
      await clock.advance(60_000)
      expect((await ask()).status).toBe(200)
    })
  })

  test('a larger max_tokens is lowered to what is left, under the name the client used', async () => {
    await withModelPath({ dailyUsd: 0.001 }, async ({ upstream, parts }) => {
      const body = completionBody({ max_completion_tokens: 1_000_000 })
      await parts.complete(workerCaller, { body, signal: open() })
      const sent = upstream.calls[0]?.body
      expect(Object.keys(sent ?? {})).toEqual(['model', 'messages', 'max_completion_tokens'])
      expect(sent?.['max_completion_tokens']).toBeGreaterThan(1000)
      expect(sent?.['max_completion_tokens']).toBeLessThan(1667)
    })
  })

  test('a streamed call reports and costs what a plain one does, with input and output apart', async () => {
    heedsLesson(88)
    await withModelPath({}, async ({ parts }) => {
      for (const stream of [false, true]) {
        const reply = await parts.complete(workerCaller, { body: completionBody({ stream }), signal: open() })
        await wholeText(reply.body)
      }
      parts.spending.flush()
      const [plain, streamed] = parts.events.bodies
      expect(plain).toMatchObject({
        type: 'model.called',
        tokens: 12,
        prompt_tokens: 10,
        completion_tokens: 2,
        cost_usd: 0.0000027,
      })
      const timeless = { duration_ms: 0, started_at: 0 }
      expect({ ...streamed, ...timeless }).toEqual({ ...plain, ...timeless })
    })
  })

  test('a provider that refuses costs nothing, and is not asked again', async () => {
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => refuse(response, 400, { message: 'context too long' }))
      await expect(
        parts.complete(workerCaller, { body: completionBody(), signal: open() }),
      ).rejects.toMatchObject({
        code: 'model-call-rejected',
        extra: { provider_status: 400 },
      })
      expect(upstream.calls).toHaveLength(1)
      expect(parts.spent(agentScope('scout'), today())).toMatchObject({ openNano: 0, spentNano: 0 })
    })
  })

  test('a provider that never answers a call is paid what was set aside', async () => {
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith(() => {})
      const hasty = createOpenAiCompatibleProvider({
        baseUrl: upstream.baseUrl,
        apiKey: null,
        timeouts: { headersMs: 50 },
      })
      const catalog = {
        ...parts.catalog,
        find: (name: ModelName) => ({ ...parts.catalog.find(name), llm: hasty }),
      }
      const complete = createComplete({ ...parts.deps, catalog }, chatFormat)
      await expect(complete(workerCaller, { body: completionBody(), signal: open() })).rejects.toMatchObject({
        code: 'upstream-timeout',
      })
      const total = parts.spent(agentScope('scout'), today())
      expect(total).toMatchObject({ openNano: 0, calls: 1 })
      expect(total.spentNano).toBeGreaterThan(0)
      await hasty.close()
    })
  })

  test('a client that stops reading midway counts as disconnected, even without an abort', async () => {
    await withModelPath(
      { readOnLimits: { share: { max: 1, perAgentMax: 0, floor: 1, reserveMax: 1 } } },
      async ({ upstream, parts }) => {
        const hungUp = Promise.withResolvers<void>()
        upstream.answerWith((call, response) => {
          void call.closed.then(hungUp.resolve)
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(chunkEvent({ content: 'a' }))
        })
        const reply = await parts.complete(workerCaller, {
          body: completionBody({ stream: true }),
          signal: open(),
        })
        for await (const _chunk of reply.body as AsyncIterable<Uint8Array>) break
        await hungUp.promise
        expect(parts.spent(agentScope('scout'), today())).toMatchObject({ openNano: 0, calls: 1 })
      },
    )
  })

  test('a client that leaves when no answer may be read on aborts the provider call and pays the reservation', async () => {
    await withModelPath(
      { readOnLimits: { share: { max: 0, perAgentMax: 1, floor: 1, reserveMax: 0 } } },
      async ({ upstream, parts }) => {
        let isHungUp: Promise<void> | undefined
        upstream.answerWith((call, response) => {
          isHungUp = call.closed
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(chunkEvent({ content: 'a' }))
          response.write(chunkEvent({ content: 'a long piece of text' }))
        })
        const gateway = await startLlmServer(parts.complete)
        const leaving = new AbortController()
        const reply = await fetch(`${gateway.baseUrl}/chat/completions`, {
          method: 'POST',
          body: completionBody({ stream: true }),
          signal: leaving.signal,
        })
        await reply.body?.getReader().read()
        leaving.abort()
        await isHungUp
        await expect.poll(() => parts.events.bodies.length).toBe(1)
        const total = parts.spent(agentScope('scout'), today())
        expect(total.openNano).toBe(0)
        expect(total.spentNano).toBeGreaterThan(16_384 * 600)
        expect(total.unconfirmedNano).toBe(total.spentNano)
        await gateway.close()
      },
    )
  })

  test('a stream that is never read is settled when its client disconnects', async () => {
    await withModelPath({}, async ({ parts }) => {
      const leaving = new AbortController()
      await parts.complete(workerCaller, { body: completionBody({ stream: true }), signal: leaving.signal })
      leaving.abort()
      await expect.poll(() => parts.spent(agentScope('scout'), today()).openNano).toBe(0)
      expect(parts.spent(agentScope('scout'), today())).toMatchObject({ spentNano: 2700, tokens: 12 })
    })
  })

  test('a stream that the provider breaks off is not asked for again: it ends with an error event, and is booked as set aside', async () => {
    heedsLesson(86)
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chunkEvent({ content: 'Hello' }), () => response.destroy())
      })
      const reply = await parts.complete(workerCaller, {
        body: completionBody({ stream: true }),
        signal: open(),
      })
      const text = await wholeText(reply.body)
      const total = parts.spent(agentScope('scout'), today())
      expect(upstream.calls).toHaveLength(1)
      expect(text).toContain('"code":"upstream-failed"')
      expect(text).not.toContain('[DONE]')
      expect(total).toMatchObject({ openNano: 0, calls: 1 })
      expect(total.spentNano).toBeGreaterThan(0)
    })
  })

  test('what a crash left open is settled in full, on its own day', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'spend-'))
    const path = join(folder, 'mesh.db')
    const clock = createManualClock('2026-11-30T23:59:59Z')
    const before = aModelPath({ database: migrated(path), overrides: { clock } })
    const wish = { agentId: 'scout', run: null, model: 'm', promptTokens: 5, promptNano: 400, answers: 1 }
    await before.spending.reserve({ ...wish, outputNanoPerToken: 10, maxTokens: 60 })
    before.database.close()

    await clock.advance(10_000)
    const after = aModelPath({ database: migrated(path), life: 'life_2', overrides: { clock } })
    expect(after.spending.found.leftOpen).toBe(1)
    expect(after.spent(agentScope('scout'), '2026-11-30')).toMatchObject({
      openNano: 0,
      spentNano: 1000,
    })
    expect(after.spent(agentScope('scout'), '2026-11')).toMatchObject({ openNano: 0, spentNano: 1000 })
    expect(after.spent(agentScope('scout'), '2026-12-01')).toMatchObject({ openNano: 0, spentNano: 0 })
    await after.close()
    await rm(folder, { recursive: true })
  })

  test('the cap of a run applies together with the budgets of the agent, and its cost is reported to the run', async () => {
    const run = {
      runId: 'run_1',
      agentId: 'scout',
      fence: 1,
      taskId: null,
      origin: { kind: 'human', channel: 'cli' },
      budgetUsd: 0.00002,
      budgetTokens: null,
    } as const
    const caller: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run }
    await withModelPath({}, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => answerWhole(response))
      await parts.complete(caller, { body: completionBody({ max_tokens: 5 }), signal: open() })
      parts.spending.flush()
      expect(parts.runCosts).toEqual([
        {
          runId: 'run_1',
          costUsd: 0.0000027,
          tokens: 12,
          unconfirmedUsd: 0,
          unconfirmedTokens: 0,
          reportedTokens: 0,
        },
      ])
      expect(parts.spent(runScope('run_1'), '').spentNano).toBe(2700)
      const refusal = { code: 'budget-exhausted', extra: { budget: 'run' } }
      const long = completionBody({ messages: [{ role: 'user', content: 'x'.repeat(200) }] })
      await expect(parts.complete(caller, { body: long, signal: open() })).rejects.toMatchObject(refusal)
    })
  })

  test("a run's cap in tokens bounds each answer, counts what is open, and refuses the call above it", async () => {
    const run = {
      runId: 'run_1',
      agentId: 'scout',
      fence: 1,
      taskId: null,
      origin: { kind: 'human', channel: 'cli' },
      budgetUsd: null,
      budgetTokens: 30,
    } as const
    const caller: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run }
    await withModelPath({}, async ({ upstream, parts }) => {
      const bounds: unknown[] = []
      upstream.answerWith((call, response) => {
        bounds.push(call.body['max_tokens'])
        answerWhole(response)
      })
      // 12 tokens for each call, as the upstream reports.
      for (const wished of [100, 10]) {
        await parts.complete(caller, { body: completionBody({ max_tokens: wished }), signal: open() })
      }
      expect(bounds).toEqual([30, 10])
      const [third, fourth] = await Promise.allSettled([
        parts.complete(caller, { body: completionBody({ max_tokens: 100 }), signal: open() }),
        parts.complete(caller, { body: completionBody({ max_tokens: 100 }), signal: open() }),
      ])
      expect(third.status).toBe('fulfilled')
      expect(bounds[2]).toBe(6)
      const refusal = { code: 'budget-exhausted', extra: { budget: 'run-tokens', limit_tokens: 30 } }
      expect(fourth).toMatchObject({ status: 'rejected', reason: refusal })
      await expect(
        parts.complete(caller, { body: completionBody({}), signal: open() }),
      ).rejects.toMatchObject(refusal)
    })
  })

  test('what a capped run gives away is used from its own caps, however many runs share the work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flotilla-caps-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'mesh.db')
    const tree = ['run_top', 'run_a', 'run_b', 'run_far']
    const treeOf = (runId: string) => (runId === 'run_top' ? tree : [runId])
    const asks = (runId: string, caps: { budgetUsd: number | null; budgetTokens: number | null }) => ({
      kind: 'agent' as const,
      agentId: 'scout',
      token: 'door' as const,
      run: {
        runId,
        agentId: 'scout',
        fence: 1,
        taskId: null,
        origin: { kind: 'human', channel: 'cli' } as const,
        ...caps,
        ...(runId === 'run_top' ? {} : { capsAbove: [{ runId: 'run_top', ...caps }] }),
      },
    })
    const exhausted = { code: 'budget-exhausted', extra: { scope_id: 'run_top' } }
    const body = completionBody({ max_tokens: 5 })
    const tokens = { budgetUsd: null, budgetTokens: 30 }
    const money = { budgetUsd: 0.000_006, budgetTokens: null }
    await withModelPath({ database: migrated(path), treeOf }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => answerWhole(response))
      // 12 tokens and 0.0000027 USD for each call, as the upstream reports.
      for (const runId of ['run_a', 'run_b', 'run_far']) {
        await parts.complete(asks(runId, tokens), { body, signal: open() })
      }
      for (const runId of tree) {
        await expect(parts.complete(asks(runId, tokens), { body, signal: open() })).rejects.toMatchObject(
          exhausted,
        )
      }
      await expect(parts.complete(asks('run_a', money), { body, signal: open() })).rejects.toMatchObject(
        exhausted,
      )
    })
    // A new mesh process, which knows only what was written.
    await withModelPath({ database: migrated(path), treeOf }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) => answerWhole(response))
      await expect(parts.complete(asks('run_b', tokens), { body, signal: open() })).rejects.toMatchObject(
        exhausted,
      )
    })
  })

  test('a model without a price is refused with the repair, and a local one costs nothing and counts', async () => {
    heedsLesson(84)
    const settings = {
      models: { 'openai/llama-x': { local: true } },
      providers: {
        far: { kind: 'openai-compatible' as const, base_url: 'https://models.example/v1', local: false },
      },
      agents: { scout: { models: ['openai/*', 'far/*'] } },
    }
    await withModelPath({ settings }, async ({ upstream, parts }) => {
      upstream.answerWith(answerStream)
      await expect(
        parts.complete(workerCaller, { body: completionBody({ model: 'far/llama-y' }), signal: open() }),
      ).rejects.toMatchObject({ code: 'model-unpriced' })
      const body = completionBody({ model: 'openai/llama-x', stream: true })
      await wholeText((await parts.complete(workerCaller, { body, signal: open() })).body)
      expect(parts.spent(agentScope('scout'), today())).toMatchObject({
        spentNano: 0,
        calls: 1,
        tokens: 12,
      })
      expect(upstream.calls[0]?.body).not.toHaveProperty('max_tokens')
    })
  })
})
