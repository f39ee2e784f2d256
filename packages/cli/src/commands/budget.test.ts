import type { BudgetView } from '@flotilla/protocol/money-api'
import { expect, test } from 'vitest'
import { requireBudget } from './budget.ts'

const budgets = [
  { scope: 'agent', id: 'scout' },
  { scope: 'project', id: 'northwind' },
  { scope: 'fleet', id: '' },
] as BudgetView[]

test.each([
  ['project', 'nortwind', 'there is no project nortwind; did you mean northwind?'],
  ['project', 'southwnd', 'there is no project southwnd; did you mean southwind?'],
  ['project', 'zzzzzzzz', 'there is no project zzzzzzzz; the projects are northwind, southwind'],
  ['agent', 'skout', 'there is no agent skout; did you mean scout?'],
] as const)('the budget of the %s %s is answered with the nearest name', (scope, id, detail) => {
  expect(() => requireBudget(budgets, { scope, id }, ['southwind'])).toThrow(
    expect.objectContaining({ message: detail, exitCode: 2 }),
  )
})

test('a named budget is shown alone', () => {
  expect(requireBudget(budgets, { scope: 'project', id: 'northwind' }, [])).toEqual([budgets[1]])
})

test('a project without a budget is not called unknown', () => {
  expect(() => requireBudget(budgets, { scope: 'project', id: 'southwind' }, ['southwind'])).toThrow(
    expect.objectContaining({
      code: 'no-budget',
      repair: expect.stringContaining('project:southwind') as string,
    }),
  )
})
