import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { Database } from '../storage/database.ts'
import { usdFromNano } from './money.ts'
import { monthOf } from './spend-table.ts'
import type { Pot } from './pots.ts'

/**
 * Tells people once in a period that a budget is nearly used up (80 %), and that it is (100 %, or too little left for a
 * call). A budget that is changed tells anew. All methods join the caller's transaction.
 */
export interface BudgetWarnings {
  /** After spending. */
  look(pots: readonly Pot[]): void
  /** A call was refused for want of money in this pot. */
  refused(pot: Pot): void
}

const nearlyPercent = 80
const usedUpPercent = 100
/** Looked up in memory before the table; forgetting them only costs the look. */
const rememberedMax = 10_000

export function createBudgetWarnings(deps: {
  readonly database: Database
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
}): BudgetWarnings {
  const { database } = deps
  const told = new Set<string>()

  function warn(pot: Pot, percent: number): void {
    const key = `${pot.scope} ${pot.id} ${pot.period} ${percent} ${pot.limitNano}`
    if (told.has(key)) return
    if (told.size >= rememberedMax) told.clear()
    told.add(key)
    database.afterRollback(() => told.delete(key))
    const { changes } = database
      .prepare(
        'INSERT INTO budget_warnings (scope, period, percent, limit_nano) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(`${pot.scope}:${pot.id}`, pot.period, percent, pot.limitNano)
    if (changes === 0) return
    // Of past months nobody will be told again.
    database.prepare('DELETE FROM budget_warnings WHERE period < ?').run(monthOf(pot.period))
    const numbers = {
      period: pot.period,
      percent,
      limit_usd: usdFromNano(pot.limitNano),
      spent_usd: usdFromNano(pot.spentNano),
    }
    deps.journal.append({
      actor: 'system',
      action: 'budget.reached',
      subject: pot.scope === 'fleet' ? 'fleet' : `${pot.scope}:${pot.id}`,
      detail: numbers,
    })
    deps.events.publish({ type: 'budget.reached', scope: pot.scope, scope_id: pot.id, ...numbers })
  }

  return {
    look(pots) {
      for (const pot of pots) {
        if (pot.period === '') continue
        const percent = (100 * pot.spentNano) / pot.limitNano
        if (percent >= nearlyPercent) warn(pot, nearlyPercent)
        if (percent >= usedUpPercent) warn(pot, usedUpPercent)
      }
    },
    refused(pot) {
      if (pot.period !== '') warn(pot, usedUpPercent)
    },
  }
}
