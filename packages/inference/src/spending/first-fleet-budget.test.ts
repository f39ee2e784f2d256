import { expect, test } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createBudgetTable } from './budget-table.ts'
import { createGiveFirstFleetBudget } from './first-fleet-budget.ts'

function aHome(journaled: readonly string[] = []) {
  const database = migrated()
  const table = createBudgetTable(database)
  const set: unknown[] = []
  const give = createGiveFirstFleetBudget({
    table,
    setBudget: (caller, scope, edit) => {
      set.push([caller.kind, scope.scope, edit])
      const after = { dailyUsd: edit.daily_usd ?? null, monthlyUsd: null }
      table.write('fleet', after)
      return { before: { dailyUsd: null, monthlyUsd: null }, after }
    },
    wasDecided: (subject) => journaled.includes(subject),
  })
  return { give, table, set, database }
}

test('a fleet without a limit gets its daily limit, once', () => {
  const { give, set, table } = aHome()
  expect(give()).toBe(20)
  expect(set).toEqual([['system', 'fleet', { daily_usd: 20 }]])
  expect(table.read('fleet')).toEqual({ dailyUsd: 20, monthlyUsd: null })
  expect(give()).toBeNull()
  expect(set).toHaveLength(1)
})

test('a limit that a person took away stays away', () => {
  const { give, set, table, database } = aHome()
  give()
  table.write('fleet', { dailyUsd: null, monthlyUsd: null })
  expect(give()).toBeNull()
  expect(createBudgetTable(database).isDecided('fleet')).toBe(true)
  expect(createBudgetTable(database).read('fleet')).toEqual({ dailyUsd: null, monthlyUsd: null })
  expect(set).toHaveLength(1)
})

test('a fleet with a limit for the month alone is left as its owner has it', () => {
  const { give, table } = aHome()
  table.write('fleet', { dailyUsd: null, monthlyUsd: 50 })
  expect(give()).toBeNull()
  expect(table.read('fleet')).toEqual({ dailyUsd: null, monthlyUsd: 50 })
})

test('a limit that an older release removed, recorded only in the journal, stays removed', () => {
  const { give, set, table } = aHome(['fleet'])
  expect(give()).toBeNull()
  expect(set).toEqual([])
  expect(table.isDecided('fleet')).toBe(true)
})
