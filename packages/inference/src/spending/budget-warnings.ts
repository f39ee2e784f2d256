import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import { usdFromNano } from './money.ts'
import { monthOf } from './sum-scopes.ts'
import type { BudgetLimit } from './budget-limits.ts'

/**
 * Notifies people once in a period that a budget is nearly used up (80 %), and that it is used up (100 %, or too
 * little left for a call). A changed budget is announced again. All methods join the caller's transaction.
 */
export interface BudgetWarnings {
  /** Called after spending, which may have used up a limit, or nearly so. */
  afterSpending(limits: readonly BudgetLimit[]): void
  /** Called when a call was refused because this limit has too little money left. */
  refused(limit: BudgetLimit): void
}

const nearlyPercent = 80
const usedUpPercent = 100
/** How many sent warnings are cached; a dropped entry costs a database query. */
const rememberedMax = 10_000

export function createBudgetWarnings(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
}): BudgetWarnings {
  const { database } = deps
  const warned = new Set<string>()

  function warn(limit: BudgetLimit, percent: number): void {
    const key = `${limit.scope} ${limit.id} ${limit.period} ${percent} ${limit.limitNano}`
    if (warned.has(key)) return
    if (warned.size >= rememberedMax) warned.clear()
    warned.add(key)
    database.afterRollback(() => warned.delete(key))
    const { changes } = database
      .prepare(
        'INSERT INTO budget_warnings (scope, period, percent, limit_nano) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(`${limit.scope}:${limit.id}`, limit.period, percent, limit.limitNano)
    if (changes === 0) return
    // Warnings of past months are never sent again.
    database.prepare('DELETE FROM budget_warnings WHERE period < ?').run(monthOf(limit.period))
    const numbers = {
      period: limit.period,
      percent,
      limit_usd: usdFromNano(limit.limitNano),
      spent_usd: usdFromNano(limit.spentNano),
    }
    deps.journal.append({
      actor: 'system',
      action: 'budget.reached',
      subject: limit.scope === 'fleet' ? 'fleet' : `${limit.scope}:${limit.id}`,
      detail: numbers,
    })
    deps.events.publish({ type: 'budget.reached', scope: limit.scope, scope_id: limit.id, ...numbers })
  }

  return {
    afterSpending(limits) {
      for (const limit of limits) {
        if (limit.period === '') continue
        const percent = (100 * limit.spentNano) / limit.limitNano
        if (percent >= nearlyPercent) warn(limit, nearlyPercent)
        if (percent >= usedUpPercent) warn(limit, usedUpPercent)
      }
    },
    refused(limit) {
      if (limit.period !== '') warn(limit, usedUpPercent)
    },
  }
}
