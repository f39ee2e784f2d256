import type { RefuseAboveCeiling } from '@flotilla/identity/access'
import type { Metric } from '@flotilla/identity/kernel'
import type { AgentBriefing } from '@flotilla/fleet/agents'
import { isJournaled } from '@flotilla/foundation/journal'
import type { RunLifecycle, RunQueries } from '@flotilla/work/runs'
import { createAgentCosts } from './agent-costs.ts'
import type { AgentCosts, BudgetedAgent } from './agent-costs.ts'
import { scopeText } from './budget-scope.ts'
import type { BudgetLimits } from './budget-scope.ts'
import { createBudgetTable } from './budget-table.ts'
import { createBudgetWarnings } from './budget-warnings.ts'
import { cacheMetrics } from './cache-metrics.ts'
import { createReportCosts } from './cost-report.ts'
import type { ReportCosts } from './cost-report.ts'
import { createGiveFirstFleetBudget } from './first-fleet-budget.ts'
import type { GiveFirstFleetBudget } from './first-fleet-budget.ts'
import { createJournalSpend } from './journal-spend.ts'
import { createBudgetView, createListBudgets } from './list-budgets.ts'
import type { BudgetViewOf, ListBudgets } from './list-budgets.ts'
import { createReportTokens } from './report-tokens.ts'
import type { ReportTokens } from './report-tokens.ts'
import { createReservations } from './reservations.ts'
import type { Reservations } from './reservations.ts'
import { createSetAgentProject, createSetBudget } from './set-budget.ts'
import type { BudgetedAgents, SetAgentProject, SetBudget } from './set-budget.ts'
import { Problem } from '@flotilla/protocol/problem'
import { makerOf, rootOf } from '@flotilla/identity/events'
import { createSpendTable } from './spend-table.ts'
import { taskScope, fleetScope, projectScope } from './sum-scopes.ts'
import type { InferenceKernel } from '../events/index.ts'
import type { Settings } from '@flotilla/foundation/config'
import type { BudgetOf, PeriodLimits } from './budget-limits.ts'
import type { BudgetTable } from './budget-table.ts'

/** Money: reserved before a model call, settled or refunded after it, reported to people, and limited by budgets. */
export interface Spending extends Pick<Reservations, 'reserve' | 'settle' | 'refund' | 'found' | 'flush'> {
  /** Includes finished calls that were not written yet. */
  readonly report: ReportCosts
  readonly costs: AgentCosts
  readonly reportTokens: ReportTokens
  metrics(): readonly Metric[]
  readonly budgets: {
    readonly set: SetBudget
    readonly setAgentProject: SetAgentProject
    readonly view: BudgetViewOf
    readonly list: ListBudgets
    readonly giveFirstToFleet: GiveFirstFleetBudget
    /** The current limits, for modules whose decisions depend on more than the budget. */
    readonly projectLimits: (project: string) => BudgetLimits
  }
  /** Writes everything spent until now to the audit log. */
  journalSpend(): void
}

export interface SpendingNeeds {
  readonly agents: {
    readonly registry: BudgetedAgents & {
      list(): readonly (BudgetedAgent & { readonly project: string | null })[]
    }
    readonly briefing: AgentBriefing
  }
  readonly runs: {
    readonly queries: Pick<RunQueries, 'treeOf'>
    readonly lifecycle: Pick<RunLifecycle, 'addRunCost' | 'addReport'>
  }
  /** Limits set by the giver of a task; the fleet's own limits apply too. */
  readonly tasks: {
    capsOf(taskId: string): { readonly maxTurns: number | null; readonly callsBefore: number }
  }
  readonly refuseAbove: RefuseAboveCeiling
}

/** Creates the module. Aborting `stopped` ends the wait between rounds of writes; `flush` is called after that. */
export function createSpending(
  kernel: InferenceKernel,
  { runs, tasks, refuseAbove, stopped, ...given }: SpendingNeeds & { readonly stopped: AbortSignal },
): Spending {
  const { database, settings } = kernel
  const agents = given.agents.registry
  const spend = createSpendTable(database)
  const table = createBudgetTable(database)
  const { treeOf } = runs.queries
  kernel.workEvents.callsOfTask.subscribe((taskId) => [spend.total(taskScope(taskId), '').calls])
  const budgetOf = createBudgetOf({ table, agents, settings })
  const reservations = createReservations({
    ...kernel,
    spend,
    life: kernel.newId('life'),
    stopped,
    budgetOf,
    treeOf,
    turnsOf: (taskId) => tasks.capsOf(taskId).maxTurns,
    callsBefore: (taskId) => tasks.capsOf(taskId).callsBefore,
    warnings: createBudgetWarnings(kernel),
    addRunCost: runs.lifecycle.addRunCost,
  })
  kernel.workEvents.openUsageOfRun.subscribe((runId) => {
    const open = reservations.openUsageOf(runId)
    return open === null ? [] : [open]
  })
  const costs = createAgentCosts({ ...kernel, spend, budgetOf, treeOf, agents })
  const editing = {
    ...kernel,
    table,
    agents,
    refuseAbove,
    makerOf: (agentId: string) => makerOf(kernel.identityEvents, agentId),
    membershipChanged: kernel.fleetEvents.membershipChanged.publish,
    rebalance: reservations.rebalance,
  }
  const setBudget = createSetBudget(editing)
  const reportCosts = createReportCosts(kernel)
  const views = { ...kernel, table, agents, spend }
  const listBudgets = createListBudgets(views)
  const journalSpend = createJournalSpend(kernel)
  return {
    ...reservations,
    // A spawned agent spends its root's money and has no budget of its own; its run's cap is its maximum.
    reserve: async (wish) => {
      const agentId = rootOf(kernel.identityEvents, wish.agentId)
      if (agentId !== wish.agentId && wish.run === null) {
        throw new Problem('denied', { detail: 'a spawned agent may call models only within its run' })
      }
      return reservations.reserve({ ...wish, agentId })
    },
    report: (caller, query) => {
      reservations.settleWaiting()
      return reportCosts(caller, query)
    },
    costs,
    reportTokens: createReportTokens({ ...kernel, reservations, addReport: runs.lifecycle.addReport }),
    metrics: () => [...costs.metrics(), ...cacheMetrics({ ...kernel, agents })],
    budgets: {
      set: setBudget,
      setAgentProject: createSetAgentProject(editing),
      view: createBudgetView(views),
      list: (caller) => {
        reservations.settleWaiting()
        return listBudgets(caller)
      },
      projectLimits: (id) => table.read(scopeText({ scope: 'project', id })),
      giveFirstToFleet: createGiveFirstFleetBudget({
        table,
        setBudget,
        wasDecided: (subject) => isJournaled(database, { action: 'budget.changed', subject }),
      }),
    },
    journalSpend: () => {
      reservations.settleWaiting()
      journalSpend()
    },
  }
}

/** Returns the limits of each agent's calls, from the rows of agents and of budgets, and from the settings. */
function createBudgetOf(deps: {
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
