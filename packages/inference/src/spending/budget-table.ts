import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import type { BudgetLimits } from './budget-scope.ts'

/** Budgets of projects and of the fleet; those of agents are in the agents' rows. */
export interface BudgetTable {
  /** Returns the limits of a scope; both are null if no limit was set. */
  read(scope: string): BudgetLimits
  /** Whether a person ever set the budget, even to no limit. The table does not store this for projects. */
  isDecided(scope: string): boolean
  /** Runs in the caller's transaction; a project without limits has no row. */
  write(scope: string, limits: BudgetLimits): void
  /** Returns names of projects that have a budget. */
  projects(): readonly string[]
}

const rowSchema = z.object({ daily_usd: z.number().nullable(), monthly_usd: z.number().nullable() })
const projectPrefix = 'project:'
const none: BudgetLimits = { dailyUsd: null, monthlyUsd: null }

export function createBudgetTable(database: Database): BudgetTable {
  /** Caches limits, which every model call reads; no other code writes these rows. At most one entry per project. */
  const known = new Map<string, BudgetLimits>()

  return {
    read(scope) {
      const found = known.get(scope)
      if (found) return found
      const row = database.prepare('SELECT daily_usd, monthly_usd FROM budgets WHERE scope = ?').get(scope)
      const parsed = row === undefined ? null : rowSchema.parse(row)
      const limits = parsed === null ? none : { dailyUsd: parsed.daily_usd, monthlyUsd: parsed.monthly_usd }
      known.set(scope, limits)
      return limits
    },
    isDecided: (scope) => database.prepare('SELECT 1 FROM budgets WHERE scope = ?').get(scope) !== undefined,
    write(scope, { dailyUsd, monthlyUsd }) {
      if (dailyUsd === null && monthlyUsd === null && scope.startsWith(projectPrefix)) {
        database.prepare('DELETE FROM budgets WHERE scope = ?').run(scope)
      } else {
        database
          .prepare(
            'INSERT INTO budgets (scope, daily_usd, monthly_usd) VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET daily_usd = excluded.daily_usd, monthly_usd = excluded.monthly_usd',
          )
          .run(scope, dailyUsd, monthlyUsd)
      }
      known.delete(scope)
      database.afterRollback(() => known.delete(scope))
    },
    projects: () =>
      database
        .prepare("SELECT scope FROM budgets WHERE scope LIKE 'project:%' ORDER BY scope")
        .all()
        .map((row) => String(row['scope']).slice(projectPrefix.length)),
  }
}
