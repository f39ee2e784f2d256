import { describe, expect, test } from 'vitest'
import { countingIds } from '../../../../../tests/support/collected-ports.ts'
import { migrated } from '../../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { aWish } from '../../../../../tests/support/spend-wish.ts'
import { usdFromNano } from '../../spending/money.ts'
import { createReservations } from '../../spending/reservations.ts'
import { createSpendTable } from '../../spending/spend-table.ts'
import { agentScope } from '../../spending/sum-scopes.ts'

const day = '2026-11-21'

function aLedger(limits: { dayNano: number }) {
  const database = migrated()
  const spend = createSpendTable(database)
  const spending = createReservations({
    database,
    spend,
    clock: createManualClock(`${day}T12:00:00Z`),
    newId: countingIds(),
    life: 'life_1',
    budgetOf: () => ({ daily_usd: usdFromNano(limits.dayNano), monthly_usd: 1000 }),
    treeOf: (runId) => [runId],
    addRunCost: () => {},
  })
  const setAside = () => spend.total(agentScope('a'), day).openNano
  return { spending, setAside }
}

const cappedRun = (budgetTokens: number) => ({ runId: 'run_1', budgetUsd: null, budgetTokens })

describe('a call that asks for several answers at once', () => {
  test('a call that asks for several answers at once sets aside the money of them all, since the provider writes and charges each', async () => {
    const { spending, setAside } = aLedger({ dayNano: 1e9 })
    const reservation = await spending.reserve(aWish({ answers: 4 }))
    expect(reservation).toMatchObject({ maxTokens: 10, reservedNano: 100 + 4 * 10 * 10 })
    expect(setAside()).toBeGreaterThanOrEqual(500)
  })

  test('a call that asks for several answers at once gets no longer answers than all of them together can be paid for', async () => {
    const { spending, setAside } = aLedger({ dayNano: 1100 })
    const reservation = await spending.reserve(aWish({ answers: 4, maxTokens: 1000 }))
    expect(reservation).toMatchObject({ maxTokens: 25, reservedNano: 1100 })
    expect(setAside()).toBe(1100)
  })

  test('a call that asks for several answers at once is refused where not one token for each is left, though one answer alone would fit', async () => {
    const refusal = { code: 'budget-exhausted', extra: { budget: 'daily' } }
    const { spending } = aLedger({ dayNano: 139 })
    await expect(spending.reserve(aWish({ answers: 4 }))).rejects.toMatchObject(refusal)
    expect(await spending.reserve(aWish())).toMatchObject({ maxTokens: 3 })
  })

  test("a call that asks for several answers at once takes them all from its run's cap in tokens, and gives back what was not used when it ends", async () => {
    const { spending } = aLedger({ dayNano: 1e9 })
    const run = cappedRun(100)
    const first = await spending.reserve(aWish({ run, answers: 4, maxTokens: 1000 }))
    expect(first.maxTokens).toBe(25)
    const whileOpen = spending.reserve(aWish({ run, maxTokens: 1 }))
    await expect(whileOpen).rejects.toMatchObject({ extra: { budget: 'run-tokens', tokens: 100 } })
    spending.settle(first, { costNano: 300, promptTokens: 5, completionTokens: 20 })
    const second = await spending.reserve(aWish({ run, answers: 3, maxTokens: 1000 }))
    expect(second.maxTokens).toBe(25)
  })
})

describe('a call that is refused', () => {
  const refusal = { code: 'budget-exhausted', extra: { budget: 'daily' } }

  test('a call that is refused for want of money leaves its tokens to the run, which else would starve on calls never made', async () => {
    const limits = { dayNano: 0 }
    const { spending } = aLedger(limits)
    const run = cappedRun(100)
    for (let attempts = 0; attempts < 5; attempts++) {
      await expect(spending.reserve(aWish({ run, maxTokens: 40 }))).rejects.toMatchObject(refusal)
    }
    limits.dayNano = 1e9
    expect(await spending.reserve(aWish({ run, maxTokens: 1000 }))).toMatchObject({ maxTokens: 100 })
  })

  test('a call that is refused leaves them to the runs above, too', async () => {
    const limits = { dayNano: 0 }
    const { spending } = aLedger(limits)
    const capsAbove = [{ runId: 'run_top', budgetUsd: null, budgetTokens: 50 }]
    const run = { ...cappedRun(100), capsAbove }
    await expect(spending.reserve(aWish({ run, answers: 2, maxTokens: 25 }))).rejects.toMatchObject(refusal)
    limits.dayNano = 1e9
    const other = { ...cappedRun(100), runId: 'run_2', capsAbove }
    expect(await spending.reserve(aWish({ run: other, maxTokens: 1000 }))).toMatchObject({ maxTokens: 50 })
  })
})
