import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerWhole } from '../../../../../tests/support/llm-upstream.ts'
import { workerCaller } from '../../../../../tests/support/model-harness.ts'
import { completionBody, withModelPath } from '../../../../../tests/support/model-path.ts'
import { usageReading } from './usage-reading.ts'
import { createPriceList } from '../catalog/model-prices.ts'
import { cacheMetrics } from '../../spending/cache-metrics.ts'
import { createReportCosts } from '../../spending/cost-report.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'

const model = 'openai/claude-sonnet-5'
const price = { input_per_mtok: 3, output_per_mtok: 15, cached_input_per_mtok: 0.3 }
const settings = { models: { [model]: { price } } }
const person = { kind: 'owner', how: 'internal' } as never

describe('money of calls with a prompt cache', () => {
  test('a call reserves as if all were written for an hour, is settled by what was read, and reports both', async () => {
    await withModelPath(
      { settings, agentModel: model, dailyUsd: 1e6, monthlyUsd: 1e6 },
      async ({ upstream, parts }) => {
        const day = utcDay(Date.now())
        const report = createReportCosts({ ...parts.deps, database: parts.database })
        const usages = fc.tuple(fc.nat(40), fc.nat(40), fc.nat(40), fc.integer({ min: 1, max: 8 }))
        const seen = { cost: 0, read: 0, written: 0, saved: 0, prompt: 0 }
        await fc.assert(
          fc.asyncProperty(usages, async ([read, written, rest, output]) => {
            const prompt = read + written + rest + 1
            let openNano = 0
            upstream.answerWith((call, response) => {
              openNano = parts.spend.total(agentScope('scout'), day).openNano
              answerWhole(response, undefined, {
                prompt_tokens: prompt,
                completion_tokens: output,
                prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
              })
            })
            const body = completionBody({
              model,
              max_tokens: 8,
              messages: [{ role: 'user', content: 'x'.repeat(150) }],
            })
            const before = parts.spent(agentScope('scout'), day).spentNano
            await parts.complete(workerCaller, { body, signal: new AbortController().signal })
            const after = parts.spent(agentScope('scout'), day).spentNano
            const cost = (rest + 1) * 3000 + read * 300 + written * 3750 + output * 15_000
            expect(after - before).toBe(cost)
            // The reservation is twice the input price: a cache write for an hour is the most expensive input that
            // the provider may bill.
            expect(openNano).toBeGreaterThanOrEqual(prompt * 6000 + 8 * 15_000)
            const saved = read * 2700 - written * 750
            const cached = { cached_tokens: read, cache_write_tokens: written, cache_saved_usd: saved / 1e9 }
            const event = parts.events.bodies.findLast(({ type }) => type === 'model.called')
            if (read + written > 0) expect(event).toMatchObject(cached)
            else expect(event).not.toHaveProperty('cached_tokens')
            seen.cost += cost
            seen.read += read
            seen.written += written
            seen.saved += saved
            seen.prompt += prompt
          }),
          { numRuns: 40 },
        )
        const { total, rows } = report(person, { by: 'agent', days: 2 })
        expect(total.prompt_tokens).toBe(seen.prompt)
        expect(total.usd).toBeCloseTo(seen.cost / 1e9, 9)
        expect(total.cache.read_tokens).toBe(seen.read)
        expect(total.cache.written_tokens).toBe(seen.written)
        expect(total.cache.read_usd).toBeCloseTo((seen.read * 300) / 1e9, 9)
        expect(total.cache.written_usd).toBeCloseTo((seen.written * 3750) / 1e9, 9)
        expect(total.cache.saved_usd).toBeCloseTo(seen.saved / 1e9, 9)
        expect(rows).toMatchObject([{ key: 'scout', cache: total.cache }])
      },
    )
  })

  test('a name that hides Claude behind its protocol is reserved and settled by the prices of Claude', async () => {
    const alias = 'relay/large'
    const options = {
      settings: {
        providers: {
          relay: { kind: 'anthropic', api_key: 'openai_api_key', base_url: 'http://127.0.0.1:9/v1' },
        },
        models: { [alias]: { price } },
      },
    }
    await withModelPath(options, async ({ parts }) => {
      const found = parts.catalog.find({ provider: 'relay', model: 'large' })
      const listed = createPriceList(parts.deps.clock)(found)
      expect(listed.inputNanoPerToken).toBe(6000)
      const usage = { promptTokens: 100, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 100 }
      expect(listed.costNano(usage)).toBe(375_000)
    })
  })

  test('what a call with marks for an hour wrote is settled as written for an hour', () => {
    const told = { promptTokens: 9, completionTokens: 1, cachedTokens: 2, cacheWriteTokens: 5 }
    const hour = usageReading({}, { isForAnHour: true, broken: null })
    expect(hour.billed(told)).toEqual({ ...told, cacheWriteLongTokens: 5 })
    expect(usageReading({}, { isForAnHour: false, broken: null }).billed(told)).toEqual(told)
    const separate = { ...told, cacheWriteLongTokens: 2 }
    expect(hour.billed(separate)).toEqual(separate)
  })

  test('savings below zero stay below zero in the report of the costs', async () => {
    await withModelPath({ settings, agentModel: model }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) =>
        answerWhole(response, undefined, {
          prompt_tokens: 50,
          completion_tokens: 1,
          prompt_tokens_details: { cache_write_tokens: 50 },
        }),
      )
      await parts.complete(workerCaller, {
        body: completionBody({ model, max_tokens: 8 }),
        signal: new AbortController().signal,
      })
      parts.spending.flush()
      const report = createReportCosts({ ...parts.deps, database: parts.database })
      expect(report(person, { by: 'model', days: 1 }).rows).toMatchObject([
        { key: model, cache: { written_tokens: 50, read_tokens: 0, saved_usd: (-50 * 750) / 1e9 } },
      ])
    })
  })

  test('the metrics of an agent state the share of its tokens that were cached, and what that saved', async () => {
    await withModelPath({ settings, agentModel: model }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) =>
        answerWhole(response, undefined, {
          prompt_tokens: 50,
          completion_tokens: 1,
          prompt_tokens_details: { cached_tokens: 20 },
        }),
      )
      const samplesOf = (...ids: string[]) => {
        parts.spending.flush()
        const agents = { list: () => ids.map((id) => ({ id })) }
        const metrics = cacheMetrics({ clock: parts.deps.clock, database: parts.database, agents })
        return Object.fromEntries(metrics.map(({ name, samples }) => [name, samples]))
      }
      const none = { flotilla_cache_hit_today_ratio: [], flotilla_cache_saved_today_usd: [] }
      expect(samplesOf('scout')).toEqual(none)
      const body = completionBody({ model, max_tokens: 8 })
      await parts.complete(workerCaller, { body, signal: new AbortController().signal })
      const labels = { agent: 'scout' }
      expect(samplesOf('scout', 'idle')).toEqual({
        flotilla_cache_hit_today_ratio: [{ labels, value: 0.4 }],
        flotilla_cache_saved_today_usd: [{ labels, value: expect.closeTo(20 * 2.7e-6, 9) }],
      })
      // An agent that was deleted has no series.
      expect(samplesOf('idle')).toEqual(none)
    })
  })

  test('the report by hour and by kind of run has the costs of the report by model, caches included', async () => {
    await withModelPath({ settings, agentModel: model }, async ({ upstream, parts }) => {
      upstream.answerWith((_call, response) =>
        answerWhole(response, undefined, {
          prompt_tokens: 50,
          completion_tokens: 1,
          prompt_tokens_details: { cached_tokens: 20 },
        }),
      )
      const body = completionBody({ model, max_tokens: 8 })
      await parts.complete(workerCaller, { body, signal: new AbortController().signal })
      parts.spending.flush()
      const report = createReportCosts({ ...parts.deps, database: parts.database })
      const byModel = report(person, { by: 'model', days: 1 })
      const byKind = report(person, { by: 'kind', days: 1 })
      const byHour = report(person, { by: 'hour', days: 1 })
      expect(byModel.total.cache.read_tokens).toBe(20)
      expect(byKind.total).toEqual(byModel.total)
      expect(byHour.total).toEqual(byModel.total)
      expect(byKind.rows[0]?.daily_usd).toEqual(byModel.rows[0]?.daily_usd)
      const opened = parts.database.prepare('SELECT opened_at FROM spend').get()
      const hour = new Date(Number(opened?.['opened_at'])).toISOString().slice(0, 13)
      expect(byHour.rows).toMatchObject([{ key: hour, daily_usd: [] }])
    })
  })
})
