import { expect, test } from 'vitest'
import { exhausted } from '../../../inference/src/spending/budget-limits.ts'
import { describeUsedUpBudget } from './describe-used-up-budget.ts'

const nano = 1_000_000_000
const now = Date.parse('2026-11-28T06:00:00.000Z')
const limit = {
  name: 'daily',
  scope: 'agent',
  id: 'scout',
  period: '2026-11-28',
  limitNano: 0.02 * nano,
  spentNano: 0.017 * nano,
  openNano: 0,
} as const

test('a used-up daily budget is said with its limit and the time until it resets', () => {
  const { detail } = exhausted(limit, 0.003 * nano, 0.1 * nano)
  expect(describeUsedUpBudget(detail, now)).toBe(
    'Out of budget for today: $0.0030 of the $0.02 a day of agent scout is left, less than the next call may cost. It resets in 18 h.',
  )
})

test('a used-up monthly budget of the fleet names the fleet and the month', () => {
  const { detail } = exhausted(
    { ...limit, name: 'monthly', scope: 'fleet', id: '', period: '2026-11' },
    0,
    0.1 * nano,
  )
  expect(describeUsedUpBudget(detail, now)).toBe(
    'Out of budget for this month: $0 of the $0.02 a month of the fleet is left, less than the next call may cost. It resets in 3 d.',
  )
})

test('a budget of a past day is not said to be one of today', () => {
  const { detail } = exhausted(limit, 0, 0.1 * nano)
  expect(describeUsedUpBudget(detail, now + 48 * 3_600_000)).toMatch(
    /^Out of budget for that day: .* cost\.$/,
  )
})

test('another reason is left as it is', () => {
  expect(describeUsedUpBudget('openai answered 401: Incorrect API key', now)).toBeNull()
})
