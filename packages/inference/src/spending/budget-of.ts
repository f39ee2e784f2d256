import type { Settings } from '@flotilla/foundation/config'
import type { BudgetOf, PeriodLimits } from './budget-limits.ts'
import type { BudgetTable } from './budget-table.ts'
import type { BudgetedAgents } from './set-budget.ts'
import { fleetScope, projectScope } from './sum-scopes.ts'

/** Returns the limits of each agent's calls, from the rows of agents and of budgets, and from the settings. */
export function createBudgetOf(deps: {
  readonly table: BudgetTable
  readonly agents: Pick<BudgetedAgents, 'find'>
  readonly settings: () => Pick<Settings, 'tasks'>
}): BudgetOf {
  const limits = (scope: string): PeriodLimits => {
    const { dailyUsd, monthlyUsd } = deps.table.read(scope)
    return { daily_usd: dailyUsd, monthly_usd: monthlyUsd }
  }
  return (agentId) => {
    const agent = deps.agents.find(agentId)
    const project = agent?.project ?? null
    return {
      daily_usd: agent?.budget.dailyUsd ?? 0,
      monthly_usd: agent?.budget.monthlyUsd ?? 0,
      project: project === null ? null : { name: project, ...limits(projectScope(project)) },
      fleet: limits(fleetScope),
      task: deps.settings().tasks,
    }
  }
}
