import type { Clock } from '@flotilla/protocol/clock'
import type { BudgetView } from '@flotilla/protocol/money-api'
import type { Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import { scopeText } from './budget-scope.ts'
import type { BudgetScope } from './budget-scope.ts'
import type { BudgetTable } from './budget-table.ts'
import { limitsOf } from './set-budget.ts'
import type { BudgetedAgents } from './set-budget.ts'

/** What is spent and set aside under a scope in a period; both US dollars. */
export type SpentIn = (
  scope: string,
  period: string,
) => { readonly spentUsd: number; readonly unconfirmedUsd: number; readonly openUsd: number }

export interface ListBudgetsDeps {
  readonly table: BudgetTable
  readonly agents: BudgetedAgents & {
    list(): readonly { readonly id: string; readonly project: string | null }[]
  }
  readonly guard: Guard
  readonly clock: Clock
  readonly spentIn: SpentIn
  /** Of a day or a month. */
  readonly resetsAt: (period: string) => string | null
}

export type BudgetViewOf = (caller: Caller, scope: BudgetScope) => BudgetView

/** One budget with its numbers. Problems `denied`, `unknown-agent`. */
export function createBudgetView(deps: ListBudgetsDeps): BudgetViewOf {
  return (caller, scope) => {
    deps.guard(caller, { do: 'view-fleet' })
    const { dailyUsd, monthlyUsd } = limitsOf(deps, scope)
    const day = new Date(deps.clock.now()).toISOString().slice(0, 10)
    const period = (limitUsd: number | null, name: string) => {
      const { spentUsd, unconfirmedUsd, openUsd } = deps.spentIn(scopeText(scope), name)
      const resets_at = deps.resetsAt(name) ?? ''
      return {
        limit_usd: limitUsd,
        spent_usd: spentUsd,
        unconfirmed_usd: unconfirmedUsd,
        reserved_usd: openUsd,
        resets_at,
      }
    }
    return {
      ...scope,
      project: scope.scope === 'agent' ? (deps.agents.find(scope.id)?.project ?? null) : null,
      daily: period(dailyUsd, day),
      monthly: period(monthlyUsd, day.slice(0, 7)),
    }
  }
}

/** The fleet's first, then projects (those with a budget and those of agents), then agents. Problem `denied`. */
export function createListBudgets(deps: ListBudgetsDeps): (caller: Caller) => readonly BudgetView[] {
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
