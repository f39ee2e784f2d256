import { describe, expect, test } from 'vitest'
import { aModelPath, migrated, workerCaller } from '../../../../tests/support/model-harness.ts'
import { startLlmUpstream } from '../../../../tests/support/llm-upstream.ts'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createReportCosts } from './cost-report.ts'
import { createJournalSpend } from './journal-spend.ts'
import { openCallAccount } from '../models/gateway/call-account.ts'
import type { CallAccountInput } from '../models/gateway/call-account.ts'
import { bookedMax } from './ledger-bounds.ts'
import type { Reservation } from './reservation.ts'
import type { SpendClosing } from './spend-table.ts'
import { answerTokensMax, readParameters } from '../models/formats/chat-format.ts'
import { readMessagesParameters } from '../models/formats/messages-parameters.ts'
import { agentScope, fleetScope, utcDay } from './sum-scopes.ts'
import { usageFrom } from '../models/formats/usage.ts'
import { messagesUsageFrom } from '../models/formats/messages-usage.ts'

const today = () => utcDay(Date.now())
const messages = [{ role: 'user', content: 'hi' }]
const bytes = (body: object) => Buffer.from(JSON.stringify(body))
const greedy = { model: 'openai/gpt-4o-mini', messages, n: 16, max_tokens: Number.MAX_SAFE_INTEGER }

const readers: Record<string, object> = {
  'a model that costs nothing': { 'openai/gpt-4o-mini': { local: true } },
  'a model whose answers cost nothing': {
    'openai/gpt-4o-mini': { price: { input_per_mtok: 1, output_per_mtok: 0 } },
  },
}

describe('a call that names the greatest number there is as its bound', () => {
  test.each(Object.keys(readers))(
    'a call with the greatest number as its bound and without usage leaves a readable and writable ledger (%s)',
    async (name) => {
      const database = migrated()
      const upstream = await startLlmUpstream()
      upstream.answerWith((_call, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end('{"choices":[{"message":{"content":"x"}}]}')
      })
      const options = { baseUrl: upstream.baseUrl, database }
      const parts = aModelPath({ ...options, settings: { models: readers[name] } })
      const signal = new AbortController().signal
      await parts.complete(workerCaller, { body: bytes(greedy), signal })
      const total = parts.spent(agentScope('scout'), today())
      // The whole window is reserved, and not the number that the caller named.
      expect(total.tokens).toBeGreaterThanOrEqual(16 * 128_000)
      expect(total.tokens).toBeLessThan(17 * 128_000)
      const next = aModelPath({ ...options, life: 'life_2' })
      await next.complete(workerCaller, { body: bytes({ ...greedy, n: 1, max_tokens: 5 }), signal })
      next.spending.flush()
      const journal = collectJournal()
      expect(createJournalSpend({ database, journal })()).toBe(1)
      await next.catalog.close()
      await parts.close()
      await upstream.close()
    },
  )

  test('a call that names the greatest number there is as its bound is lowered to what an answer can have, in every form', () => {
    const bound = (more: object) => readParameters(bytes({ model: 'm', messages, ...more })).maxTokens?.value
    expect(bound({ max_tokens: Number.MAX_SAFE_INTEGER })).toBe(answerTokensMax)
    expect(bound({ max_completion_tokens: 1e12 })).toBe(answerTokensMax)
    expect(bound({ max_tokens: 9000 })).toBe(9000)
    const body = { model: 'm', messages, max_tokens: Number.MAX_SAFE_INTEGER }
    expect(readMessagesParameters(bytes(body), []).maxTokens?.value).toBe(answerTokensMax)
  })
})

describe('what a provider tells of its usage', () => {
  test.each([1e15, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'a reported usage of %d counts as no usage',
    (count) => {
      expect(usageFrom({ prompt_tokens: count, completion_tokens: 1 })).toBeNull()
      expect(usageFrom({ prompt_tokens: 1, completion_tokens: count })).toBeNull()
      expect(messagesUsageFrom({ input_tokens: 1, output_tokens: count })).toBeNull()
    },
  )

  test('what a provider tells of its usage is booked up to what the ledger takes, whatever it adds up to, and the log says so', () => {
    const paid: SpendClosing[] = []
    const lines: string[] = []
    const account = (costNano: number) =>
      openCallAccount(
        {
          spending: { settle: (_of: Reservation, closing: SpendClosing) => void paid.push(closing) } as never,
          events: { publish: () => {} },
          clock: { now: () => 0, sleep: () => Promise.resolve() },
          log: { error: (_of: object, words: string) => void lines.push(words) },
        },
        {
          agentId: 'a',
          runId: null,
          model: 'm',
          operation: 'chat',
          price: { inputNanoPerToken: 1, outputNanoPerToken: 1, callNano: 0, costNano: () => costNano },
          reservation: { reservedNano: 7, maxTokens: 5 } as never,
          promptTokens: 1,
          windowTokens: 1000,
          answers: 1,
          answered: () => {},
          closed: () => {},
        } satisfies CallAccountInput,
      )
    const usage = { promptTokens: 1e17, completionTokens: -3, cachedTokens: 0 }
    account(1e30).settle(usage)
    account(Number.NaN).settle({ ...usage, promptTokens: 1.5 })
    account(-5).settleUnconfirmed('no-usage', { ...usage, completionTokens: Number.NaN })
    expect(paid).toMatchObject([
      { costNano: bookedMax, promptTokens: bookedMax, completionTokens: 0 },
      { costNano: 7, promptTokens: 2, completionTokens: 0 },
      { costNano: 7, promptTokens: 1000, completionTokens: 5 },
    ])
    expect(lines).toHaveLength(2)
  })
})

describe('a ledger in which an earlier release has booked more than a number holds', () => {
  test('a ledger with sums beyond a number is loaded, charged, reported and recorded in the journal', async () => {
    const database = migrated()
    const day = today()
    const huge = 144_115_188_075_855_856n
    const sums = `${huge}, 0`
    database.exec(`
      INSERT INTO spend (id, agent_id, model, state, day, reserved_nano, completion_tokens, opened_at, run_id, task_id)
        VALUES ('one', 'scout', 'm', 'settled', '${day}', 0, ${huge}, 1, 'run_1', 'task_1');
      INSERT INTO spend SELECT 'more' || value, agent_id, run_id, model, state, day, reserved_nano, cost_nano,
        prompt_tokens, completion_tokens, opened_at, closed_at, project, task_id, life, unconfirmed
        FROM spend, json_each('[1,2,3]');
      INSERT INTO spend_total (scope, period, calls, tokens, open_nano) VALUES
        ('agent:scout', '${day}', 4, ${sums}), ('agent:scout', '${day.slice(0, 7)}', 4, ${sums}),
        ('fleet', '${day}', 4, ${sums}), ('fleet', '${day.slice(0, 7)}', 4, ${sums}),
        ('run:run_1', '', 4, ${sums}), ('task:task_1', '', 4, ${sums});
      INSERT INTO spend_daily (day, agent_id, project, model, cost_nano, calls, prompt_tokens, completion_tokens)
        VALUES ('${day}', 'scout', '', 'm', 0, 4, 0, ${huge});
      INSERT INTO spend_unjournaled (agent_id, run_id, project, model, cost_nano, calls, prompt_tokens, completion_tokens)
        VALUES ('scout', 'run_1', '', 'm', 0, 4, 0, ${huge});`)
    const upstream = await startLlmUpstream()
    const parts = aModelPath({ baseUrl: upstream.baseUrl, database })
    const signal = new AbortController().signal
    await parts.complete(workerCaller, { body: bytes({ ...greedy, n: 1, max_tokens: 5 }), signal })
    expect(parts.spent(fleetScope, day)).toMatchObject({ calls: 5, tokens: Number.MAX_SAFE_INTEGER })
    const report = createReportCosts({ database, clock: parts.deps.clock, guard: () => {} })
    const { total } = report({ kind: 'owner', how: 'internal' } as never, { by: 'agent', days: 1 })
    expect(total).toMatchObject({ calls: 5, completion_tokens: Number.MAX_SAFE_INTEGER })
    const journal = collectJournal()
    expect(createJournalSpend({ database, journal })()).toBe(2)
    await parts.close()
    await upstream.close()
  })
})
