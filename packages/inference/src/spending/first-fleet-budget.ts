import { firstFleetDailyUsd } from '@flotilla/protocol/money-api'
import type { Caller } from '@flotilla/identity/access'
import { scopeText } from './budget-scope.ts'
import type { BudgetTable } from './budget-table.ts'
import type { SetBudget } from './set-budget.ts'

const fleet = { scope: 'fleet', id: '' } as const
const mesh: Caller = { kind: 'system' }

/**
 * Sets the daily limit of the fleet if no person has decided about one: at the first start, and at the first start of
 * this release on an older home. A removed limit stays removed. Returns US dollars if it was set now, else null.
 */
export type GiveFirstFleetBudget = () => number | null

export function createGiveFirstFleetBudget(deps: {
  readonly table: BudgetTable
  readonly setBudget: SetBudget
  /** Whether the audit log has a person's decision on this budget: older releases stored no row of removed limits. */
  readonly wasDecided: (subject: string) => boolean
}): GiveFirstFleetBudget {
  const scope = scopeText(fleet)
  return () => {
    if (deps.table.isDecided(scope)) return null
    if (deps.wasDecided(scope)) {
      deps.table.write(scope, { dailyUsd: null, monthlyUsd: null })
      return null
    }
    deps.setBudget(mesh, fleet, { daily_usd: firstFleetDailyUsd })
    return firstFleetDailyUsd
  }
}
