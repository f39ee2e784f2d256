import type { EventBus } from '../events/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Database } from '../storage/index.ts'
import { usdFromNano } from './money.ts'
import { monthOf } from './sum-scopes.ts'
import type { BudgetLimit } from './budget-limits.ts'

/**
 * Tells people once in a period that a budget is nearly used up (80 %), and that it is (100 %, or too little left for a
 * call). A budget that is changed tells anew. All methods join the caller's transaction.
 */
export interface BudgetWarnings {
  /** What was spent may have used one up, or nearly. */
  afterSpending(limits: readonly BudgetLimit[]): void
  /** A call was refused for want of money in this limit. */
  refused(limit: BudgetLimit): void
}

const nearlyPercent = 80
const usedUpPercent = 100
/** Looked up in memory before the table; forgetting them only costs the look-up. */
const rememberedMax = 10_000

export function createBudgetWarnings(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
}): BudgetWarnings {
  const { database } = deps
  const told = new Set<string>()

  function warn(limit: BudgetLimit, percent: number): void {
    const key = `${limit.scope} ${limit.id} ${limit.period} ${percent} ${limit.limitNano}`
    if (told.has(key)) return
    if (told.size >= rememberedMax) told.clear()
    told.add(key)
    database.afterRollback(() => told.delete(key))
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
