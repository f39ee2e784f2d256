import { useState } from 'react'
import type { ReactNode } from 'react'
import type { BudgetView } from '@flotilla/protocol/money-api'
import { Empty } from '../design/parts.tsx'
import { budgetTitle, sortBudgets } from './sort-budgets.ts'

/** The number of budgets that are drawn until a person asks for all. */
const firstMax = 12

/** Lists budgets, the ones that are used up most first; a long list can be searched, and begins with a part. */
export function BudgetList({
  budgets,
  className,
  children,
}: {
  readonly budgets: readonly BudgetView[]
  readonly className: string
  readonly children: (budget: BudgetView) => ReactNode
}) {
  const [find, setFind] = useState('')
  const [all, setAll] = useState(false)
  const isLong = budgets.length > firstMax
  const words = find.trim().toLowerCase()
  const matching = sortBudgets(budgets).filter((one) => budgetTitle(one).toLowerCase().includes(words))
  const shown = all ? matching : matching.slice(0, firstMax)
  return (
    <>
      {isLong && (
        <div className="body">
          <input
            className="input"
            type="search"
            placeholder="Search"
            aria-label="Search budgets"
            value={find}
            onChange={(event) => setFind(event.target.value)}
          />
        </div>
      )}
      <ul className={className}>{shown.map(children)}</ul>
      {isLong && shown.length === 0 && <Empty title="No budget matches">Choose other words.</Empty>}
      {shown.length < matching.length && (
        <div className="body">
          <button type="button" className="button" onClick={() => setAll(true)}>
            Show all {matching.length}
          </button>
        </div>
      )}
    </>
  )
}
