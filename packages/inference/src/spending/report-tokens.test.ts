import { expect, onTestFinished, test } from 'vitest'
import { reportedModel } from '@flotilla/protocol/harness-api'
import { costKeys } from '@flotilla/protocol/money-api'
import { collectEvents } from '../../../../tests/support/collected-ports.ts'
import { aWish } from '../../../../tests/support/spend-wish.ts'
import type { AgentCaller } from '../../../identity/src/http/gates/agent-gate.ts'
import { aLedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { checkSums } from './check-sums.ts'
import { costsOf } from './cost-report.ts'
import { createReportTokens } from './report-tokens.ts'
import { createReservations } from './reservations.ts'
import { createSpendTable } from './spend-table.ts'
import { agentScope, taskScope } from './sum-scopes.ts'

/** An agent at work on a task of at most 1000 tokens, whose calls the mesh books. */
async function atWork() {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  const tokenBudget = { max_tokens: 1000, max_cost_usd: 1 }
  const { task_id: taskId, run_id: runId } = harness.handOff(
    { kind: 'human', role: 'owner', channel: 'cli' },
    { to: 'coder', title: 't', description: 'd', data: {}, tokenBudget },
  )
  await harness.clock.settle()
  const { lifecycle, queries } = harness.ledger
  const spend = createSpendTable(harness.database)
  const reservations = createReservations({
    ...harness,
    spend,
    life: 'life_1',
    budgetOf: () => ({ daily_usd: 1, monthly_usd: 1 }),
    treeOf: (id) => [id],
    addRunCost: lifecycle.addRunCost,
  })
  const events = collectEvents()
  const reportTokens = createReportTokens({
    ...harness,
    events,
    reservations,
    addReport: lifecycle.addReport,
  })
  const caller = () => harness.callerOf('coder') as AgentCaller // the harness of the ledger makes agents alone
  const { run } = caller()
  return {
    ...harness,
    caller,
    events,
    spend,
    taskId,
    run: () => queries.find(runId),
    reserve: () => reservations.reserve(aWish({ agentId: 'coder', run })),
    settle: reservations.settle,
    /** A call of the run through the mesh. */
    call: async (tokens: number) =>
      reservations.settle(await reservations.reserve(aWish({ agentId: 'coder', run })), {
        costNano: 100,
        promptTokens: tokens - 1,
        completionTokens: 1,
      }),
    report: (prompt: number, completion: number) =>
      reportTokens(caller(), { prompt_tokens: prompt, completion_tokens: completion }, (work) =>
        harness.database.transaction(work),
      ).counted,
  }
}

test('tokens of calls through the mesh are not counted again when the harness reports them', async () => {
  const { call, report, run, events } = await atWork()
  await call(60)
  await call(50)
  expect(report(90, 20)).toBe(0)
  expect(run()).toMatchObject({ tokensUsed: 110, reportedTokens: 0 })
  expect(events.bodies).toEqual([])
})

test('tokens of calls outside of the mesh are counted without a price, in each turn', async () => {
  const { report, run, events, spend, taskId, clock } = await atWork()
  expect(report(90, 20)).toBe(110)
  expect(report(300, 5)).toBe(305)
  expect(run()).toMatchObject({ tokensUsed: 415, reportedTokens: 415, costUsd: 0, unconfirmedTokens: 0 })
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const sums = { spentNano: 0, openNano: 0, tokens: 415, calls: 2 }
  expect(spend.total(agentScope('coder'), day)).toMatchObject(sums)
  expect(spend.total(taskScope(taskId), '')).toMatchObject(sums)
  expect(events.bodies).toMatchObject([
    { type: 'tokens.reported', agent_id: 'coder', prompt_tokens: 90, completion_tokens: 20 },
    { type: 'tokens.reported', agent_id: 'coder', prompt_tokens: 300, completion_tokens: 5 },
  ])
})

test('of a run with calls of both kinds, only what exceeds those of the mesh is counted', async () => {
  const { call, report, run } = await atWork()
  await call(100)
  expect(report(70, 20)).toBe(0)
  expect(report(30, 10)).toBe(30)
  await call(50)
  expect(report(50, 0)).toBe(0)
  expect(report(9, 1)).toBe(10)
  expect(run()).toMatchObject({ tokensUsed: 190, reportedTokens: 40 })
})

test('an open call of the run counts as all that it may use', async () => {
  const { reserve, settle, report, run } = await atWork()
  const open = await reserve()
  expect(report(5, 5)).toBe(0)
  settle(open, { costNano: 0, promptTokens: 6, completionTokens: 4 })
  expect(report(0, 0)).toBe(0)
  expect(run()).toMatchObject({ tokensUsed: 10, reportedTokens: 0 })
})

test('the token limit of a task counts reported tokens, and refuses the next call through the mesh', async () => {
  const { call, report } = await atWork()
  await call(10)
  report(900, 99)
  await expect(call(2)).resolves.toBe(undefined)
  report(100, 0)
  await expect(call(2)).rejects.toMatchObject({
    code: 'budget-exhausted',
    extra: { budget: 'run-tokens', limit_tokens: 1000 },
  })
})

test.each(costKeys)('costs by %s show reported tokens apart', async (by) => {
  const { call, report, database, clock } = await atWork()
  await call(10)
  report(90, 20)
  const { total, rows } = costsOf({ database, clock }, { by, days: 2 })
  expect(total).toMatchObject({ usd: 1e-7, prompt_tokens: 89, completion_tokens: 21, reported_tokens: 100 })
  expect(rows.reduce((sum, row) => sum + row.reported_tokens, 0)).toBe(100)
  if (by === 'model')
    expect(rows).toMatchObject([
      { key: 'm/one', reported_tokens: 0 },
      { key: reportedModel, usd: 0, reported_tokens: 100 },
    ])
  expect(checkSums(database, new Date(clock.now()).toISOString().slice(0, 10))).toEqual({
    totals: [],
    daily: [],
  })
})

test('a report without a live run is refused, and changes nothing', async () => {
  const { caller, run, database, ...parts } = await atWork()
  const actions: object[] = []
  const reportTokens = createReportTokens({
    ...parts,
    guard: (_caller, action) => void actions.push(action),
    reservations: { addReported: () => {}, openUsageOf: () => null, settleWaiting: () => {} },
    addReport: () => 7,
  })
  const refused = () =>
    reportTokens({ ...caller(), run: null }, { prompt_tokens: 1, completion_tokens: 1 }, (work) =>
      database.transaction(work),
    )
  expect(refused).toThrow(expect.objectContaining({ code: 'stale-fence' }))
  expect(actions).toEqual([{ do: 'act-for-self', agentId: 'coder' }])
  expect(run()).toMatchObject({ tokensUsed: 0, reportedTokens: 0 })
})
