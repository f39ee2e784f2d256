import type { BudgetView } from '@flotilla/protocol/money-api'
import { expect, it } from 'vitest'
import { sortBudgets } from './sort-budgets.ts'

const period = (spent: number, limit: number | null, reserved = 0) => ({
  spent_usd: spent,
  reserved_usd: reserved,
  limit_usd: limit,
})
const aBudget = (id: string, daily: ReturnType<typeof period>, monthly = period(0, 100)) =>
  ({ scope: 'agent', id, daily, monthly }) as BudgetView

it('the fleet and projects come first, then the agents whose budgets are used up most', () => {
  const sorted = sortBudgets([
    aBudget('idle-b', period(0, 10)),
    aBudget('idle-a', period(0, 10)),
    aBudget('month', period(0, 10), period(90, 100)),
    aBudget('reserved', period(1, 10, 7)),
    aBudget('nothing-allowed', period(0, 0)),
    aBudget('no-limit', period(50, null)),
    { ...aBudget('acme', period(0, 1)), scope: 'project' },
    { ...aBudget('', period(0, null)), scope: 'fleet' },
  ])
  expect(sorted.map(({ id }) => id)).toEqual([
    '',
    'acme',
    'nothing-allowed',
    'month',
    'reserved',
    'idle-a',
    'idle-b',
    'no-limit',
  ])
})
