import type { BudgetView } from '@flotilla/protocol/money-api'

const scopes: readonly BudgetView['scope'][] = ['fleet', 'project', 'agent']

/** Sorts budgets: of the fleet, of projects, of agents, and in each group the ones that are used up most first. Pure. */
export function sortBudgets(budgets: readonly BudgetView[]): readonly BudgetView[] {
  return budgets.toSorted(
    (one, other) =>
      scopes.indexOf(one.scope) - scopes.indexOf(other.scope) ||
      usedPart(other) - usedPart(one) ||
      one.id.localeCompare(other.id),
  )
}

/** The name of a budget for people. Pure. */
export function budgetTitle({ scope, id }: Pick<BudgetView, 'scope' | 'id'>): string {
  return scope === 'fleet' ? 'The whole fleet' : scope === 'project' ? `Project ${id}` : id
}

/** The larger of the parts of day and month that are spent or reserved. */
function usedPart({ daily, monthly }: BudgetView): number {
  const parts = [daily, monthly].map(({ limit_usd: limit, spent_usd: spent, reserved_usd: reserved }) =>
    limit === null ? 0 : limit === 0 ? 1 : (spent + reserved) / limit,
  )
  return Math.max(...parts)
}
