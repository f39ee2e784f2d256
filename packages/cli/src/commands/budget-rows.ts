import type { BudgetView } from '@flotilla/protocol/money-api'
import type { Color } from '../terminal/color.ts'
import { shareBar } from '../terminal/bars.ts'
import { formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

const barColumns = 8
const nearlyUsed = 0.8

/** Formats budgets as a table with today's and this month's spend. */
export function budgetRows(budgets: readonly BudgetView[], color: Color): string[] {
  if (budgets.length === 0) return []
  const isUnsure = budgets.some(({ monthly }) => monthly.unconfirmed_usd > 0)
  const hasProjects = budgets.some(({ project }) => project !== null)
  return renderTable(
    [
      { title: 'BUDGET OF' },
      ...(hasProjects ? [{ title: 'PROJECT' }] : []),
      { title: 'TODAY' },
      { title: 'SPENT', align: 'right' },
      { title: 'OF', align: 'right' },
      { title: 'MONTH' },
      { title: 'SPENT', align: 'right' },
      { title: 'OF', align: 'right' },
      ...(isUnsure ? [{ title: 'UNCONFIRMED', align: 'right' as const }] : []),
    ],
    budgets.map((budget) => [
      budgetName(budget),
      ...(hasProjects ? [budget.project ?? ''] : []),
      ...periodCells(budget.daily, color),
      ...periodCells(budget.monthly, color),
      ...(isUnsure ? [unconfirmed(budget.monthly)] : []),
    ]),
  )
}

/** The share of this month's spend. */
function unconfirmed({ unconfirmed_usd: usd }: BudgetView['monthly']): string {
  return usd > 0 ? formatUsd(usd) : ''
}

/** Returns the name of a budget on the command line: `scout`, `project:acme`, `fleet`. */
export function budgetName({ scope, id }: Pick<BudgetView, 'scope' | 'id'>): string {
  if (scope === 'fleet') return 'fleet'
  return scope === 'agent' ? id : `${scope}:${id}`
}

function periodCells({ limit_usd: limit, spent_usd: spent }: BudgetView['daily'], color: Color): string[] {
  if (limit === null) return ['', formatUsd(spent), 'no limit']
  const share = spent / limit
  const bar = shareBar(share, barColumns)
  return [
    share >= 1 ? color.bad(bar) : share >= nearlyUsed ? color.warning(bar) : bar,
    formatUsd(spent),
    formatUsd(limit),
  ]
}
