import { createBudgetTable } from '../spending/budget-table.ts'
import { createGiveFirstFleetBudget } from '../spending/first-fleet-budget.ts'
import { createBudgetView, createListBudgets } from '../spending/list-budgets.ts'
import { createSetAgentProject, createSetBudget } from '../spending/set-budget.ts'
import type { BudgetedAgents } from '../spending/set-budget.ts'
import type { Settings } from '../config/settings-file.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import { isJournaled } from '../journal/read-journal.ts'
import { createReportCosts } from '../spending/cost-report.ts'
import { createJournalSpend } from '../spending/journal-spend.ts'
import { usdFromNano } from '../spending/money.ts'
import { resetsAt } from '../spending/pots.ts'
import type { Budgets, PeriodLimits } from '../spending/pots.ts'
import type { SpendGate } from '../spending/reserve-settle.ts'
import { fleetScope, projectScope } from '../spending/spend-table.ts'
import type { SpendTable } from '../spending/spend-table.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { DenialCounts } from '../access/denial-counts.ts'
import { createRefuseAboveCeiling } from '../access/hold-ceiling.ts'
import type { Database } from '../storage/database.ts'
import { systemClock } from '../platform/system-clock.ts'

/** What each agent's calls must fit into, from the rows of the fleet and of the budgets. */
export function createBudgetBook(parts: {
  readonly database: Database
  readonly findAgent: BudgetedAgents['find']
  readonly settings: () => Settings
}) {
  const table = createBudgetTable(parts.database)
  const limits = (scope: string): PeriodLimits => {
    const { dailyUsd, monthlyUsd } = table.read(scope)
    return { daily_usd: dailyUsd, monthly_usd: monthlyUsd }
  }
  const budgetOf = (agentId: string): Budgets => {
    const agent = parts.findAgent(agentId)
    const project = agent?.project ?? null
    return {
      daily_usd: agent?.budget.dailyUsd ?? 0,
      monthly_usd: agent?.budget.monthlyUsd ?? 0,
      project: project === null ? null : { name: project, ...limits(projectScope(project)) },
      fleet: limits(fleetScope),
      task: parts.settings().tasks,
    }
  }
  return { table, budgetOf }
}

/** Budgets as people edit and see them, and reports of what was spent. */
export function composeBudgets(parts: {
  readonly database: Database
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly guard: Guard
  readonly denials: DenialCounts
  readonly log: Log
  readonly fleet: BudgetedAgents & {
    list(): readonly { readonly id: string; readonly project: string | null }[]
    refreshBriefings(): Promise<void>
  }
  readonly modelDoor: {
    readonly spend: SpendTable
    readonly gate: SpendGate
    readonly book: ReturnType<typeof createBudgetBook>
  }
}) {
  const { guard, fleet, modelDoor } = parts
  const clock = systemClock
  const { table } = modelDoor.book
  const deps = {
    ...parts,
    table,
    agents: fleet,
    refuseAbove: createRefuseAboveCeiling(parts),
    rebalance: () => modelDoor.gate.rebalance(),
  }
  const views = {
    table,
    agents: fleet,
    guard,
    clock,
    resetsAt,
    spentIn: (scope: string, period: string) => {
      const { spentNano, unconfirmedNano, openNano } = modelDoor.spend.total(scope, period)
      return {
        spentUsd: usdFromNano(spentNano),
        unconfirmedUsd: usdFromNano(unconfirmedNano),
        openUsd: usdFromNano(openNano),
      }
    },
  }
  const setBudget = createSetBudget(deps)
  return {
    setBudget,
    giveFirstFleetBudget: createGiveFirstFleetBudget({
      table,
      setBudget,
      wasDecided: (subject) => isJournaled(parts.database, { action: 'budget.changed', subject }),
    }),
    setAgentProject: createSetAgentProject(deps),
    budgetView: createBudgetView(views),
    listBudgets: createListBudgets(views),
    reportCosts: createReportCosts({ ...parts, clock }),
    journalSpend: createJournalSpend(parts),
  }
}
