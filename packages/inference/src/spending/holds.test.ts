import * as fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { countingIds } from '../../../../tests/support/collected-ports.ts'
import { migrated } from '../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aheadMaxNano, aheadShare } from './holds.ts'
import { nanoPerUsd, usdFromNano } from './money.ts'
import { createReservations } from './reservations.ts'
import type { Reservation, ReserveWish } from './reservation.ts'
import { createSpendTable } from './spend-table.ts'
import { agentScope, runScope } from './sum-scopes.ts'

const day = '2026-11-21'
const promptNano = 1000
const outputNano = 10

function aLedger(
  options: {
    dailyNano?: number
    path?: string
    life?: string
    clock?: ReturnType<typeof createManualClock>
  } = {},
) {
  const clock = options.clock ?? createManualClock(`${day}T12:00:00Z`)
  const database = migrated(options.path)
  const spend = createSpendTable(database)
  const runCosts: number[] = []
  const reservations = createReservations({
    database,
    spend,
    clock,
    newId: countingIds(),
    life: options.life ?? 'life_1',
    budgetOf: () => ({ daily_usd: usdFromNano(options.dailyNano ?? 10 * nanoPerUsd), monthly_usd: 100 }),
    treeOf: (runId) => [runId],
    addRunCost: (_runId, cost) => runCosts.push(cost.costUsd),
  })
  const wish = (runId = 'run_1', maxTokens = 10): ReserveWish => ({
    agentId: 'scout',
    run: { runId, budgetUsd: null },
    model: 'm',
    promptTokens: 1,
    promptNano,
    outputNanoPerToken: outputNano,
    answers: 1,
    maxTokens,
  })
  const settle = (reservation: Reservation, costNano = reservation.reservedNano) =>
    reservations.settle(reservation, { costNano, promptTokens: 1, completionTokens: 1 })
  const callOften = async (calls = 20, runId?: string) => {
    for (let call = 0; call < calls; call++) settle(await reservations.reserve(wish(runId)))
    await clock.advance(50)
  }
  const total = (scope = agentScope('scout')) => spend.total(scope, scope.startsWith('run:') ? '' : day)
  return { clock, database, reservations, wish, settle, callOften, total, runCosts, spend }
}

/** The value of a promise that resolves without a turn of the event loop; a disk would need one. */
async function atOnce<T>(promise: Promise<T>): Promise<T | 'waits'> {
  const later = Promise.resolve()
    .then(() => {})
    .then(() => {})
    .then(() => 'waits' as const)
  return Promise.race([promise, later])
}

describe('hold', () => {
  test('a hold is not given to who calls seldom: nothing but open calls is set aside', async () => {
    const { reservations, wish, settle, clock, total } = aLedger()
    for (let call = 0; call < 5; call++) {
      const reservation = await reservations.reserve(wish())
      expect(total().openNano).toBe(reservation.reservedNano)
      settle(reservation, 500)
      await clock.advance(1000)
      expect(total().openNano).toBe(0)
    }
    expect(total()).toMatchObject({ spentNano: 2500, calls: 5 })
  })

  test('a hold lets the calls of a busy run leave without waiting for the disk, within its two bounds', async () => {
    const { reservations, wish, callOften, total } = aLedger({ dailyNano: nanoPerUsd })
    expect(await atOnce(reservations.reserve(wish()))).toBe('waits')
    await new Promise((resolve) => setImmediate(resolve))
    await callOften()
    expect(await atOnce(reservations.reserve(wish()))).toMatchObject({ maxTokens: 10 })
    const { openNano } = total()
    expect(openNano).toBeGreaterThan(1_000_000)
    expect(openNano).toBeLessThanOrEqual(Math.min(aheadMaxNano, nanoPerUsd * aheadShare) + 1100)
  })

  test('a hold goes back when the run falls silent', async () => {
    const { clock, callOften, total } = aLedger()
    await callOften()
    expect(total().openNano).toBeGreaterThan(0)
    for (let elapsed = 0; elapsed < 2100; elapsed += 50) await clock.advance(50)
    expect(total()).toMatchObject({ openNano: 0, spentNano: 20 * 1100 })
    expect(clock.sleepers()).toBe(0)
  })

  test('a hold goes to another run of the agent that needs it', async () => {
    const { reservations, wish, callOften, total } = aLedger({ dailyNano: 1_000_000 })
    await callOften()
    const left = 1_000_000 - total().spentNano
    const all = await reservations.reserve(wish('run_2', 1_000_000))
    expect(all.reservedNano).toBeGreaterThan(left - outputNano)
    expect(total(runScope('run_1')).openNano).toBe(0)
    await expect(reservations.reserve(wish())).rejects.toMatchObject({ code: 'budget-exhausted' })
  })

  test('a reservation that a crash left open is settled in full, on its own day', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hold-'))
    const path = join(folder, 'mesh.db')
    const before = aLedger({ path })
    await before.callOften()
    const { openNano, spentNano } = before.total()
    const unwritten = await before.reservations.reserve(before.wish())
    before.settle(unwritten)
    before.database.close()

    const clock = createManualClock('2026-11-22T12:00:00Z')
    const after = aLedger({ path, clock, life: 'life_2' })
    expect(after.reservations.found.leftOpen).toBe(1)
    expect(after.total()).toMatchObject({ openNano: 0, spentNano: spentNano + openNano })
    expect(openNano).toBeLessThanOrEqual(aheadMaxNano)
    expect(after.runCosts).toEqual([usdFromNano(openNano)])
    expect(after.spend.total(agentScope('scout'), '2026-11-22').spentNano).toBe(0)
    after.database.close()
    await rm(folder, { recursive: true })
  })

  test('the reservation of a call that ends twice is counted once', async () => {
    const { reservations, wish, settle, total } = aLedger()
    const reservation = await reservations.reserve(wish())
    settle(reservation, 700)
    settle(reservation, 700)
    reservations.refund(reservation)
    reservations.flush()
    expect(total()).toMatchObject({ openNano: 0, spentNano: 700, calls: 1 })
  })

  test('a hold never lets calls set aside or spend more than the budget, whatever their order', async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('reserve' as const),
          run: fc.nat(2),
          tokens: fc.integer({ min: 1, max: 500 }),
        }),
      },
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat(), share: fc.nat(100) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('refund' as const), pick: fc.nat() }) },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(50, 1000) }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const limit = 100_000
        const { reservations, wish, clock, total, database } = aLedger({ dailyNano: limit })
        const open: Reservation[] = []
        let spentNano = 0
        for (const one of steps) {
          if (one.do === 'reserve') {
            const reservation = await reservations
              .reserve(wish(`run_${one.run}`, one.tokens))
              .catch(() => null)
            if (reservation) open.push(reservation)
          } else if (one.do === 'wait') {
            await clock.advance(one.ms)
          } else {
            const [picked] = open.splice(one.pick % Math.max(1, open.length), 1)
            if (!picked) continue
            if (one.do === 'refund') reservations.refund(picked)
            else {
              const costNano = Math.floor((picked.reservedNano * one.share) / 100)
              spentNano += costNano
              reservations.settle(picked, { costNano, promptTokens: 1, completionTokens: 1 })
            }
          }
          const now = total()
          const promised = open.reduce((sum, { reservedNano }) => sum + reservedNano, 0)
          expect(now.spentNano + now.openNano).toBeLessThanOrEqual(limit)
          // The stored reservation covers what is open and what was spent, so that a crash loses nothing.
          expect(now.spentNano + now.openNano).toBeGreaterThanOrEqual(spentNano + promised)
        }
        reservations.flush()
        const promised = open.reduce((sum, { reservedNano }) => sum + reservedNano, 0)
        expect(total()).toMatchObject({ spentNano, openNano: promised })
        database.close()
      }),
      { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 120 : 20 },
    )
  })
})
