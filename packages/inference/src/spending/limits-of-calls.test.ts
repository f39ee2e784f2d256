import { Problem } from '@flotilla/protocol/problem'
import * as fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { collectEvents, collectJournal, countingIds } from '../../../../tests/support/collected-ports.ts'
import { migrated } from '../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createBudgetWarnings } from './budget-warnings.ts'
import { createReportCosts } from './cost-report.ts'
import { createJournalSpend } from './journal-spend.ts'
import { usdFromNano } from './money.ts'
import { resetsAt } from './budget-limits.ts'
import type { Budgets, PeriodLimits } from './budget-limits.ts'
import { createReservations } from './reservations.ts'
import type { Reservation, ReserveWish } from './reservation.ts'
import { createSpendTable } from './spend-table.ts'
import { agentScope, fleetScope, projectScope, taskScope } from './sum-scopes.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { patient } from '../../../../tests/support/patience.ts'

const day = '2026-11-21'
const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const noLimits: PeriodLimits = { daily_usd: null, monthly_usd: null }

interface Harness {
  readonly life?: string
  readonly agentNano?: number
  readonly projectNano?: number
  readonly fleetNano?: number
  readonly task?: Budgets['task']
  readonly path?: string
  readonly clock?: ReturnType<typeof createManualClock>
}

/** `a` and `b` belong to a project, `c` to none. */
function aFleet(options: Harness = {}) {
  const clock = options.clock ?? createManualClock(`${day}T12:00:00Z`)
  const database = migrated(options.path)
  const spend = createSpendTable(database)
  const events = collectEvents()
  const journal = collectJournal()
  const limits = { agent: options.agentNano ?? 1e12, project: options.projectNano, fleet: options.fleetNano }
  const life = new AbortController()
  const perDay = (nano: number | undefined): PeriodLimits =>
    nano === undefined ? noLimits : { daily_usd: usdFromNano(nano), monthly_usd: null }
  const reservations = createReservations({
    database,
    spend,
    clock,
    newId: countingIds(),
    life: options.life ?? 'life_1',
    stopped: life.signal,
    warnings: createBudgetWarnings({ database, journal, events }),
    budgetOf: (agentId) => ({
      daily_usd: usdFromNano(limits.agent),
      monthly_usd: 30_000,
      project: agentId === 'c' ? null : { name: 'p', ...perDay(limits.project) },
      fleet: perDay(limits.fleet),
      ...(options.task ? { task: options.task } : {}),
    }),
    treeOf: (runId) => [runId],
    addRunCost: () => {},
  })
  const wish = (agentId: string, tokens = 10, taskId: string | null = null): ReserveWish => ({
    agentId,
    run: { runId: `run_${agentId}`, budgetUsd: null, taskId },
    model: 'm/one',
    promptTokens: 1,
    promptNano: 1000,
    outputNanoPerToken: 10,
    answers: 1,
    maxTokens: tokens,
  })
  const settle = (reservation: Reservation, costNano = reservation.reservedNano) =>
    reservations.settle(reservation, { costNano, promptTokens: 3, completionTokens: 2 })
  const total = (scope: string) => spend.total(scope, scope.startsWith('task:') ? '' : day)
  return { clock, database, spend, reservations, wish, settle, total, events, journal, limits, life }
}

describe('a call', () => {
  test('a call counts in the limits of its agent, its project, the fleet and its task at once', async () => {
    const { reservations, wish, settle, total } = aFleet()
    settle(await reservations.reserve(wish('a', 10, 'task_1')))
    settle(await reservations.reserve(wish('c')))
    reservations.flush()
    expect(total(agentScope('a'))).toMatchObject({ spentNano: 1100, calls: 1, tokens: 5 })
    expect(total(projectScope('p'))).toMatchObject({ spentNano: 1100, calls: 1 })
    expect(total(taskScope('task_1'))).toMatchObject({ spentNano: 1100, calls: 1 })
    expect(total(fleetScope)).toMatchObject({ spentNano: 2200, calls: 2, openNano: 0 })
  })

  test.each([
    ['project', { projectNano: 5000 }, 'p'],
    ['fleet', { fleetNano: 5000 }, ''],
  ] as const)(
    'a call that the budget of the %s cannot pay is refused with its numbers',
    async (scope, harness, id) => {
      const { reservations, wish, settle, events } = aFleet(harness)
      settle(await reservations.reserve(wish('a', 100)))
      reservations.flush()
      await reservations.reserve(wish('b', 100))
      await expect(reservations.reserve(wish('a', 100))).rejects.toMatchObject({
        code: 'budget-exhausted',
        extra: {
          budget: 'daily',
          scope,
          scope_id: id,
          period: day,
          limit_usd: 0.000005,
          spent_usd: 0.000002,
          reserved_usd: 0.000002,
          left_usd: 0.000001,
          needed_usd: 0.00000101,
          resets_at: '2026-11-22T00:00:00.000Z',
        },
      })
      expect(events.bodies).toMatchObject([
        { type: 'budget.reached', scope, scope_id: id, percent: 100, period: day },
      ])
    },
  )

  test('a call of another agent uses what a busy agent holds in reserve in a shared limit', async () => {
    const { reservations, wish, settle, clock, total } = aFleet({ fleetNano: 1_000_000 })
    for (let call = 0; call < 20; call++) settle(await reservations.reserve(wish('a')))
    await clock.advance(50)
    expect(total(agentScope('a')).openNano).toBeGreaterThan(0)
    const left = 1_000_000 - total(fleetScope).spentNano
    const all = await reservations.reserve(wish('c', 1_000_000))
    expect(all.reservedNano).toBeGreaterThan(left - 10)
    expect(total(agentScope('a')).openNano).toBe(0)
  })

  test('a call after a budget was lowered is refused at once, also for a busy run', async () => {
    const { reservations, wish, settle, clock, limits, total } = aFleet({ fleetNano: 1_000_000 })
    for (let call = 0; call < 20; call++) settle(await reservations.reserve(wish('a')))
    await clock.advance(50)
    limits.fleet = total(fleetScope).spentNano
    reservations.rebalance()
    await expect(reservations.reserve(wish('a'))).rejects.toMatchObject({ code: 'budget-exhausted' })
  })

  test('a call of an agent that changes its project is charged to the new one, and open calls to the old one', async () => {
    const database = migrated()
    const spend = createSpendTable(database)
    const events = collectEvents()
    let name = 'old'
    const reservations = createReservations({
      database,
      spend,
      clock: createManualClock(`${day}T12:00:00Z`),
      newId: countingIds(),
      life: 'life_1',
      warnings: createBudgetWarnings({ database, journal: collectJournal(), events }),
      budgetOf: () => ({
        daily_usd: 1,
        monthly_usd: 1,
        // The budget of the new project is just enough for one of the two calls.
        project: { name, ...noLimits, ...(name === 'new' ? { daily_usd: 0.0000012 } : {}) },
      }),
      treeOf: (runId) => [runId],
      addRunCost: () => {},
    })
    const { wish } = aFleet()
    const before = await reservations.reserve(wish('a'))
    name = 'new'
    const after = await reservations.reserve(wish('a'))
    for (const one of [before, after]) {
      reservations.settle(one, { costNano: one.reservedNano, promptTokens: 1, completionTokens: 1 })
    }
    reservations.flush()
    expect(spend.total(projectScope('old'), day)).toMatchObject({ spentNano: 1100, openNano: 0 })
    expect(spend.total(projectScope('new'), day)).toMatchObject({ spentNano: 1100, openNano: 0 })
    // Money of the old project does not count against the limit of the new one, and no warning is sent for the old
    // one.
    expect(events.bodies).toMatchObject([{ type: 'budget.reached', scope_id: 'new', percent: 80 }])
  })
})

describe('a task', () => {
  test('a task makes no more model calls than its cap, whatever they cost and however many at once', async () => {
    heedsLesson(87)
    const { reservations, wish, settle } = aFleet({ task: { max_usd: null, max_calls: 10 } })
    const free = { promptNano: 0, outputNanoPerToken: 0 }
    const asked = Array.from({ length: 94 }, (_, call) =>
      reservations.reserve({ ...wish('a', 10, 'task_1'), ...(call % 2 === 0 ? free : {}) }),
    )
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.filter((one) => one.status === 'fulfilled')).toHaveLength(10)
    for (const one of outcomes) if (one.status === 'fulfilled') settle(one.value, 0)
    reservations.flush()
    await expect(reservations.reserve(wish('a', 10, 'task_1'))).rejects.toMatchObject({
      code: 'budget-exhausted',
      extra: { budget: 'task-calls', scope: 'task', scope_id: 'task_1', limit_calls: 10, calls: 10 },
    })
    await reservations.reserve(wish('a', 10, 'task_2'))
  })

  test('a task gets calls back that were refused or refunded', async () => {
    const { reservations, wish, limits } = aFleet({ task: { max_usd: null, max_calls: 1 } })
    limits.agent = 0
    await expect(reservations.reserve(wish('a', 10, 'task_1'))).rejects.toMatchObject({
      extra: { budget: 'daily' },
    })
    limits.agent = 1e9
    reservations.refund(await reservations.reserve(wish('a', 10, 'task_1')))
    reservations.flush()
    reservations.refund(
      await reservations.reserve({ ...wish('a', 10, 'task_1'), promptNano: 0, outputNanoPerToken: 0 }),
    )
    await reservations.reserve(wish('a', 10, 'task_1'))
  })

  test('a task spends no more than its cap in US dollars', async () => {
    const { reservations, wish, settle } = aFleet({ task: { max_usd: 0.000003, max_calls: 1000 } })
    settle(await reservations.reserve(wish('a', 100, 'task_1')))
    await expect(reservations.reserve(wish('a', 100, 'task_1'))).rejects.toMatchObject({
      extra: { budget: 'task', scope: 'task', limit_usd: 0.000003, resets_at: null },
    })
  })
})

describe('a budget that runs low', () => {
  test('a budget is reported at 80 and at 100 per cent, once in a period, and again when it is changed', async () => {
    const { reservations, wish, settle, events, journal, limits, clock } = aFleet({ agentNano: 10_000 })
    const spendOne = async () => {
      settle(await reservations.reserve(wish('a', 100)))
      reservations.flush()
    }
    for (let call = 0; call < 3; call++) await spendOne()
    expect(events.bodies).toEqual([])
    await spendOne()
    await spendOne()
    const told = () =>
      events.bodies.map((body) => (body.type === 'budget.reached' ? [body.percent, body.period] : []))
    expect(told()).toEqual([
      [80, day],
      [100, day],
    ])
    await expect(reservations.reserve(wish('a'))).rejects.toBeInstanceOf(Problem)
    expect(told()).toHaveLength(2)
    expect(journal.entries.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
      'budget.reached agent:a',
      'budget.reached agent:a',
    ])
    limits.agent = 12_000
    reservations.rebalance()
    await spendOne()
    expect(told().slice(2)).toEqual([
      [80, day],
      [100, day],
    ])
    await clock.advance(24 * 3600_000)
    limits.agent = 12_000
    for (let call = 0; call < 5; call++) await spendOne()
    expect(told().at(-1)).toEqual([80, '2026-11-22'])
  })

  test('a reported budget is not reported again after a restart of the mesh', async () => {
    const database = migrated()
    const limit = {
      name: 'daily',
      scope: 'agent',
      id: 'a',
      period: day,
      limitNano: 100,
      spentNano: 90,
      openNano: 0,
    } as const
    const lives = [collectEvents(), collectEvents()]
    for (const events of lives) {
      const warnings = createBudgetWarnings({ database, journal: collectJournal(), events })
      database.transaction(() => warnings.afterSpending([limit]))
    }
    expect(lives.map(({ bodies }) => bodies.length)).toEqual([1, 0])
  })
})

test.each([
  ['2026-11-21', '2026-11-22T00:00:00.000Z'],
  ['2026-12-31', '2027-01-01T00:00:00.000Z'],
  ['2028-02-28', '2028-02-29T00:00:00.000Z'],
  ['2026-11', '2026-12-01T00:00:00.000Z'],
  ['2026-12', '2027-01-01T00:00:00.000Z'],
  ['', null],
])('a limit of %j starts anew at %s', (period, at) => {
  expect(resetsAt(period)).toBe(at)
})

describe('what was spent', () => {
  test('what was spent is reported by agent, project, model and day, with tokens of both sides', async () => {
    const { reservations, wish, settle, clock, database } = aFleet()
    settle(await reservations.reserve(wish('a')))
    settle(await reservations.reserve({ ...wish('c'), model: 'm/two' }))
    await clock.advance(24 * 3600_000)
    settle(await reservations.reserve(wish('a')), 100)
    reservations.flush()
    const report = createReportCosts({ database, clock, guard: () => {} })
    const by = (key: 'agent' | 'project' | 'model' | 'day') => report(owner, { by: key, days: 2 })
    const total = { usd: 0.0000023, calls: 3, prompt_tokens: 9, completion_tokens: 6 }
    expect(by('agent')).toMatchObject({
      from: day,
      to: '2026-11-22',
      total,
      rows: [
        { key: 'a', usd: 0.0000012, calls: 2, daily_usd: [0.0000011, 0.0000001] },
        { key: 'c', usd: 0.0000011, daily_usd: [0.0000011, 0] },
      ],
    })
    expect(by('project').rows.map(({ key }) => key)).toEqual(['p', ''])
    expect(by('model').rows.map(({ key, calls }) => [key, calls])).toEqual([
      ['m/one', 2],
      ['m/two', 1],
    ])
    expect(by('day').rows.map(({ key, usd }) => [key, usd])).toEqual([
      [day, 0.0000022],
      ['2026-11-22', 0.0000001],
    ])
    expect(report(owner, { by: 'agent', days: 1 }).total).toMatchObject({ usd: 0.0000001, calls: 1 })
  })

  test('what was spent is journaled once for each run and model, not for each call', async () => {
    const { reservations, wish, settle, database } = aFleet()
    const journal = collectJournal()
    const write = createJournalSpend({ database, journal })
    for (let call = 0; call < 100; call++) settle(await reservations.reserve(wish('a')))
    settle(await reservations.reserve({ ...wish('a'), model: 'm/two' }))
    reservations.flush()
    expect(write()).toBe(2)
    expect(write()).toBe(0)
    expect(journal.entries[0]).toEqual({
      actor: 'agent:a',
      action: 'spend.settled',
      subject: 'run_a',
      detail: {
        agent: 'a',
        project: 'p',
        model: 'm/one',
        cost_usd: 0.00011,
        calls: 100,
        prompt_tokens: 300,
        completion_tokens: 200,
      },
    })
  })
})

describe('budgets of a whole fleet', () => {
  test(
    'budgets of a whole fleet are never overspent and lose nothing, whatever the order of calls, their ends and crashes',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'limits-'))
      const agent = fc.constantFrom('a', 'b', 'c')
      const step = fc.oneof(
        {
          weight: 8,
          arbitrary: fc.record({
            do: fc.constant('reserve' as const),
            agent,
            tokens: fc.integer({ min: 1, max: 600 }),
            atOnce: fc.integer({ min: 1, max: 4 }),
          }),
        },
        {
          weight: 6,
          arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat(), share: fc.nat(100) }),
        },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), pick: fc.nat() }) },
        {
          weight: 2,
          arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2500 }) }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
      )
      let files = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
          const clock = createManualClock(`${day}T12:00:00Z`)
          const limits = { agentNano: 60_000, projectNano: 80_000, fleetNano: 100_000 }
          const path = join(folder, `${files++}.db`)
          let lives = 1
          let harness = aFleet({ ...limits, path, clock })
          let open: Reservation[] = []
          let costNano = 0
          for (const one of steps) {
            switch (one.do) {
              case 'reserve': {
                const asked = Array.from({ length: one.atOnce }, () =>
                  harness.reservations.reserve(harness.wish(one.agent, one.tokens)).catch(() => null),
                )
                for (const got of await Promise.all(asked)) if (got) open.push(got)
                break
              }
              case 'wait':
                await clock.advance(one.ms)
                break
              case 'crash':
                harness.life.abort(new Error('the power is gone'))
                harness.database.close()
                harness = aFleet({ ...limits, path, clock, life: `life_${++lives}` })
                // The outcome of those calls is unknown; each is paid in full.
                costNano += open.reduce((sum, { reservedNano }) => sum + reservedNano, 0)
                open = []
                break
              case 'refund':
              case 'settle': {
                const [picked] = open.splice(one.pick % Math.max(1, open.length), 1)
                if (!picked) break
                if (one.do === 'refund') harness.reservations.refund(picked)
                else {
                  const cost = Math.floor((picked.reservedNano * one.share) / 100)
                  costNano += cost
                  harness.settle(picked, cost)
                }
              }
            }
            const sums = { a: total('agent:a'), b: total('agent:b'), c: total('agent:c') }
            const fleet = total(fleetScope)
            for (const sum of Object.values(sums)) expect(sum).toBeLessThanOrEqual(limits.agentNano)
            expect(total(projectScope('p'))).toBeLessThanOrEqual(limits.projectNano)
            expect(fleet).toBeLessThanOrEqual(limits.fleetNano)
            expect(total(projectScope('p'))).toBe(sums.a + sums.b)
            expect(fleet).toBe(sums.a + sums.b + sums.c)
            const promised = open.reduce((sum, { reservedNano }) => sum + reservedNano, 0)
            expect(fleet).toBeGreaterThanOrEqual(costNano + promised)
          }
          harness.life.abort(new Error('the end'))
          harness.database.close()

          function total(scope: string): number {
            const { spentNano, openNano } = harness.spend.total(scope, day)
            return spentNano + openNano
          }
        }),
        { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 180 : 20 },
      )
      await rm(folder, { recursive: true })
    },
    patient(60_000),
  )
})
