import { describe, expect, test } from 'vitest'
import { countingIds } from '../../../../tests/support/collected-ports.ts'
import { migrated } from '../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { aWish } from '../../../../tests/support/spend-wish.ts'
import { usdFromNano } from './money.ts'
import { createReservations } from './reservations.ts'
import type { Reservation } from './reservation.ts'
import { createSpendTable } from './spend-table.ts'
import { agentScope } from './sum-scopes.ts'

const day = '2026-11-21'

function aLedger(limits: { dayNano: number } = { dayNano: 1e9 }) {
  const clock = createManualClock(`${day}T12:00:00Z`)
  const database = migrated()
  const spend = createSpendTable(database)
  const life = new AbortController()
  const errors: string[] = []
  const runCosts: object[] = []
  const reservations = createReservations({
    database,
    spend,
    clock,
    newId: countingIds(),
    life: 'life_1',
    stopped: life.signal,
    budgetOf: () => ({
      daily_usd: usdFromNano(limits.dayNano),
      monthly_usd: 1000,
      project: { name: 'p', daily_usd: null, monthly_usd: null },
      task: { max_usd: null, max_calls: 2 },
    }),
    treeOf: (runId) => [runId],
    addRunCost: (runId, cost) => runCosts.push({ runId, ...cost }),
    log: { ...silentLog, error: (_fields, fact) => void errors.push(fact) },
  })
  const total = () => spend.total(agentScope('a'), day)
  const settle = (reservation: Reservation, andAlso?: () => void) =>
    reservations.settle(reservation, { costNano: 150, promptTokens: 3, completionTokens: 2 }, andAlso)
  return { clock, database, reservations, total, settle, life, errors, runCosts, limits }
}

const free = { promptNano: 0, outputNanoPerToken: 0 }
const ofTask = { runId: 'run_1', budgetUsd: null, taskId: 'task_1' }
const rowOfTask = {
  agentId: 'a',
  runId: 'run_1',
  taskId: 'task_1',
  project: 'p',
  model: 'm/one',
  day,
}
const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve))

describe('what is set aside for a call', () => {
  test('a reservation is stored under its budget, on the day it started', async () => {
    const { reservations, clock } = aLedger()
    const reservation = await reservations.reserve(aWish({ run: ofTask }))
    expect(reservation).toMatchObject({
      reservedNano: 200,
      maxTokens: 10,
      openedAt: clock.now(),
      row: {
        ...rowOfTask,
        reservedNano: 200,
      },
    })
    expect(reservation.row.id).toBe(reservation.id)
    const outside = await reservations.reserve(aWish())
    expect(outside.row).toMatchObject({ runId: null, taskId: null })
    expect(outside.id).not.toBe(reservation.id)
  })

  test('the most that the open calls of a run may use is known until they end', async () => {
    const { reservations } = aLedger()
    const wish = aWish({ run: { runId: 'run_1', budgetUsd: null }, promptTokens: 5 })
    const [first, second] = [await reservations.reserve(wish), await reservations.reserve(wish)]
    expect(reservations.openUsageOf('run_1')).toEqual({ tokens: 30, usd: usdFromNano(400) })
    reservations.refund(first)
    expect(reservations.openUsageOf('run_1')).toEqual({ tokens: 15, usd: usdFromNano(200) })
    reservations.settle(second, { costNano: 10, promptTokens: 1, completionTokens: 1 })
    expect(reservations.openUsageOf('run_1')).toBeNull()
  })

  test('a free call reserves nothing and is admitted even by an overdrawn budget', async () => {
    const { reservations, total, clock } = aLedger({ dayNano: 0 })
    const reservation = await reservations.reserve(aWish({ ...free, run: ofTask, maxTokens: 7 }))
    expect(reservation).toEqual({
      id: 'call_1',
      reservedNano: 0,
      maxTokens: 7,
      openedAt: clock.now(),
      hold: null,
      row: {
        id: 'call_1',
        ...rowOfTask,
        reservedNano: 0,
      },
    })
    expect((await reservations.reserve(aWish(free))).row).toMatchObject({ runId: null, taskId: null })
    expect(total().openNano).toBe(0)
  })

  test.each([
    ['only the prompt costs', { outputNanoPerToken: 0 }],
    ['only the answer costs', { promptNano: 0 }],
  ])(
    'what is set aside for a call is its cost where %s, to the last nano-dollar that is left',
    async (_what, prices) => {
      const { reservations, total } = aLedger({ dayNano: 100 })
      const wish = aWish(prices)
      expect(await reservations.reserve(wish)).toMatchObject({ maxTokens: 10, reservedNano: 100 })
      expect(total().openNano).toBe(100)
      await expect(reservations.reserve(wish)).rejects.toMatchObject({ code: 'budget-exhausted' })
    },
  )
})

describe('a call that is over', () => {
  test('a settled call is written within a twentieth of a second, with the changes that depend on it', async () => {
    const { reservations, clock, total, settle, runCosts } = aLedger()
    let also = 0
    settle(await reservations.reserve(aWish({ run: ofTask })), () => also++)
    expect(total()).toMatchObject({ spentNano: 0, openNano: 200 })
    await clock.advance(50)
    expect(total()).toMatchObject({ spentNano: 150, openNano: 0, calls: 1, tokens: 5 })
    expect(also).toBe(1)
    const usage = { costUsd: usdFromNano(150), tokens: 5, unconfirmedUsd: 0, unconfirmedTokens: 0 }
    expect(runCosts).toEqual([{ runId: 'run_1', ...usage, reportedTokens: 0 }])
    expect(clock.sleepers()).toBe(0)
  })

  test('a call of unknown usage adds its whole cost and its tokens to the unconfirmed part of its run', async () => {
    const { reservations, clock, settle, runCosts } = aLedger()
    settle(await reservations.reserve(aWish({ run: ofTask })))
    reservations.settle(
      await reservations.reserve(aWish({ run: ofTask })),
      { costNano: 200, promptTokens: 30, completionTokens: 10, unconfirmed: 'broken-off' },
      () => {},
    )
    await clock.advance(50)
    expect(runCosts).toEqual([
      {
        runId: 'run_1',
        costUsd: usdFromNano(350),
        tokens: 45,
        unconfirmedUsd: usdFromNano(200),
        unconfirmedTokens: 40,
        reportedTokens: 0,
      },
    ])
  })

  test('a settlement that fails to be written stays reserved and is reported, and the others of its batch are written', async () => {
    const { reservations, total, settle, errors } = aLedger()
    const [first, second, third] = [
      await reservations.reserve(aWish()),
      await reservations.reserve(aWish()),
      await reservations.reserve(aWish()),
    ]
    settle(first)
    settle(second, () => {
      throw new Error('what goes with it cannot be written')
    })
    settle(third)
    reservations.settleWaiting()
    await turnOfTheLoop()
    await turnOfTheLoop()
    // The unused part of a reservation is released.
    reservations.flush()
    expect(total()).toMatchObject({ spentNano: 300, openNano: 150, calls: 2 })
    expect(errors).toEqual([
      'failed to write a model call; its reservation remains and the next start books it in full',
    ])
  })

  test('a single settlement that fails to be written is reported once', async () => {
    const { reservations, total, settle, errors } = aLedger()
    settle(await reservations.reserve(aWish()), () => {
      throw new Error('what goes with it cannot be written')
    })
    reservations.settleWaiting()
    await turnOfTheLoop()
    await turnOfTheLoop()
    expect(total()).toMatchObject({ spentNano: 0, openNano: 200 })
    expect(errors).toEqual([
      'failed to write a model call; its reservation remains and the next start books it in full',
    ])
  })

  test('a settlement that the disk refuses is written once the disk takes it, with what goes with it', async () => {
    const { reservations, clock, database, total, settle, errors, runCosts } = aLedger()
    let also = 0
    settle(await reservations.reserve(aWish({ run: ofTask })), () => also++)
    settle(await reservations.reserve(aWish({ run: ofTask })))
    database.exec('PRAGMA query_only = ON')
    await clock.advance(50)
    reservations.settleWaiting()
    await turnOfTheLoop()
    expect(total()).toMatchObject({ spentNano: 0 })
    database.exec('PRAGMA query_only = OFF')
    also = 0
    await clock.advance(1000)
    expect(total()).toMatchObject({ spentNano: 300, openNano: 0, calls: 2 })
    expect(also).toBe(1)
    expect(runCosts).toHaveLength(1)
    expect(errors.filter((fact) => fact.includes('model call'))).toEqual([])
  })

  test('a call that is over does not wait for the round where a thousand are over', async () => {
    const { reservations, total, settle } = aLedger({ dayNano: 1e12 })
    const open = await Promise.all(Array.from({ length: 1000 }, () => reservations.reserve(aWish())))
    for (const one of open.slice(1)) settle(one)
    await turnOfTheLoop()
    expect(total().calls).toBe(0)
    for (const one of open.slice(0, 1)) settle(one)
    await turnOfTheLoop()
    expect(total().calls).toBe(1000)
  })

  test('a call that is over is written by who reads the sums now, and by the end', async () => {
    const { reservations, total, settle, life, errors } = aLedger()
    settle(await reservations.reserve(aWish()))
    reservations.settleWaiting()
    expect(total()).toMatchObject({ spentNano: 150 })
    settle(await reservations.reserve(aWish()))
    life.abort(new Error('the mesh ends'))
    reservations.flush()
    await turnOfTheLoop()
    expect(total()).toMatchObject({ spentNano: 300, openNano: 0 })
    expect(errors).toEqual([])
  })

  test('a settlement is reported even if nothing wakes the writer any more', async () => {
    const database = migrated()
    const errors: string[] = []
    const reservations = createReservations({
      database,
      spend: createSpendTable(database),
      clock: {
        now: () => Date.parse(`${day}T12:00:00Z`),
        sleep: () => Promise.reject(new Error('no clock')),
      },
      newId: countingIds(),
      life: 'life_1',
      budgetOf: () => ({ daily_usd: 1, monthly_usd: 1 }),
      treeOf: (runId) => [runId],
      addRunCost: () => {},
      log: { ...silentLog, error: (_fields, fact) => void errors.push(fact) },
    })
    reservations.settle(await reservations.reserve(aWish()), {
      costNano: 150,
      promptTokens: 3,
      completionTokens: 2,
    })
    await turnOfTheLoop()
    expect(errors).toEqual(['failed to write settled model calls; the next completed call retries'])
  })
})

describe('a call that is refunded', () => {
  test('a call that is refunded gives back its money and its place among the calls of its task, once', async () => {
    const { reservations, total } = aLedger()
    const first = await reservations.reserve(aWish({ run: ofTask }))
    reservations.refund(first)
    reservations.refund(first)
    reservations.flush()
    expect(total()).toMatchObject({ spentNano: 0, openNano: 0, calls: 0 })
    await reservations.reserve(aWish({ run: ofTask }))
    await reservations.reserve(aWish({ run: ofTask }))
    const third = reservations.reserve(aWish({ run: ofTask }))
    await expect(third).rejects.toMatchObject({ extra: { budget: 'task-calls', calls: 2 } })
  })

  test('a call that is refunded and costs nothing gives back its place too', async () => {
    const { reservations } = aLedger()
    const first = await reservations.reserve(aWish({ ...free, run: ofTask }))
    reservations.refund(first)
    reservations.refund(first)
    await reservations.reserve(aWish({ ...free, run: ofTask }))
    await reservations.reserve(aWish({ ...free, run: ofTask }))
    const third = reservations.reserve(aWish({ ...free, run: ofTask }))
    await expect(third).rejects.toMatchObject({ extra: { budget: 'task-calls', calls: 2 } })
  })

  test('a call that is refunded gives all of its tokens back to its run', async () => {
    const { reservations } = aLedger()
    const run = { runId: 'run_1', budgetUsd: null, budgetTokens: 100 }
    reservations.refund(await reservations.reserve(aWish({ run, maxTokens: 80 })))
    expect(await reservations.reserve(aWish({ run, maxTokens: 1000 }))).toMatchObject({ maxTokens: 100 })
  })
})

test('a call for which the table cannot be written is refused as what went wrong, and takes nothing', async () => {
  const { reservations, database } = aLedger()
  const run = { ...ofTask, budgetTokens: 100 }
  database.exec('ALTER TABLE spend RENAME TO moved')
  await expect(reservations.reserve(aWish({ run, maxTokens: 80 }))).rejects.toThrow('no such table')
  await expect(reservations.reserve(aWish({ run, maxTokens: 80 }))).rejects.toThrow('no such table')
  database.exec('ALTER TABLE moved RENAME TO spend')
  expect(await reservations.reserve(aWish({ run, maxTokens: 1000 }))).toMatchObject({ maxTokens: 100 })
  await reservations.reserve(aWish({ run: ofTask }))
})
