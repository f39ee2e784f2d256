import type { Clock } from '@flotilla/protocol/clock'
import type { BudgetView } from '@flotilla/protocol/money-api'
import type { Caller, Guard } from '@flotilla/identity/access'
import { resetsAt } from './budget-limits.ts'
import { scopeText } from './budget-scope.ts'
import type { BudgetScope } from './budget-scope.ts'
import type { BudgetTable } from './budget-table.ts'
import { usdFromNano } from './money.ts'
import { limitsOf } from './set-budget.ts'
import type { BudgetedAgents } from './set-budget.ts'
import { monthOf, utcDay } from './sum-scopes.ts'
import type { SpendTable } from './spend-table.ts'

export interface ListBudgetsDeps {
  readonly table: BudgetTable
  readonly agents: BudgetedAgents & {
    list(): readonly { readonly id: string; readonly project: string | null }[]
  }
  readonly guard: Guard
  readonly clock: Clock
  readonly spend: SpendTable
}

export type BudgetViewOf = (caller: Caller, scope: BudgetScope) => BudgetView

/** One budget with its numbers. Problems `denied`, `unknown-agent`. */
export function createBudgetView(deps: ListBudgetsDeps): BudgetViewOf {
  return (caller, scope) => {
    deps.guard(caller, { do: 'view-fleet' })
    const { dailyUsd, monthlyUsd } = limitsOf(deps, scope)
    const day = utcDay(deps.clock.now())
    const period = (limitUsd: number | null, name: string) => {
      const { spentNano, unconfirmedNano, openNano } = deps.spend.total(scopeText(scope), name)
      return {
        limit_usd: limitUsd,
        spent_usd: usdFromNano(spentNano),
        unconfirmed_usd: usdFromNano(unconfirmedNano),
        reserved_usd: usdFromNano(openNano),
        resets_at: resetsAt(name) ?? '',
      }
    }
    return {
      ...scope,
      project: scope.scope === 'agent' ? (deps.agents.find(scope.id)?.project ?? null) : null,
      daily: period(dailyUsd, day),
      monthly: period(monthlyUsd, monthOf(day)),
    }
  }
}

export type ListBudgets = (caller: Caller) => readonly BudgetView[]

/** The fleet's budget first, then projects (with a budget, or with agents), then agents. Problem `denied`. */
export function createListBudgets(deps: ListBudgetsDeps): ListBudgets {
  const view = createBudgetView(deps)
  return (caller) => {
    deps.guard(caller, { do: 'view-fleet' })
    const agents = deps.agents.list()
    const projects = new Set([...deps.table.projects(), ...agents.flatMap(({ project }) => project ?? [])])
    return [
      view(caller, { scope: 'fleet', id: '' }),
      ...[...projects].toSorted().map((id) => view(caller, { scope: 'project', id })),
      ...agents.map(({ id }) => view(caller, { scope: 'agent', id })),
    ]
  }
}
