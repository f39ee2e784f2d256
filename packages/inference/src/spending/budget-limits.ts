import { Problem } from '@flotilla/protocol/problem'
import type { RunCap } from '@flotilla/identity/access'
import { nanoFromUsd, usdFromNano } from './money.ts'
import { agentScope, fleetScope, monthOf, projectScope, runScope, taskScope } from './sum-scopes.ts'
import type { SpendTable } from './spend-table.ts'

/** The limits for a day and for a month, US dollars; null if there is no such limit. */
export interface PeriodLimits {
  readonly daily_usd: number | null
  readonly monthly_usd: number | null
}

/** All limits of an agent's calls; every call must fit into each of them. */
export interface Budgets {
  readonly daily_usd: number
  readonly monthly_usd: number
  /** The project that the agent belongs to. */
  readonly project?: (PeriodLimits & { readonly name: string }) | null
  readonly fleet?: PeriodLimits
  /** Applies to each task separately, over all runs that work on it. */
  readonly task?: { readonly max_usd: number | null; readonly max_calls: number }
}

export type BudgetOf = (agentId: string) => Budgets

type LimitScope = 'agent' | 'project' | 'fleet' | 'run' | 'task'

/** A current money limit with the spent and reserved amounts; a call must fit into each of its limits. */
export interface BudgetLimit {
  readonly name: 'daily' | 'monthly' | 'run' | 'task'
  readonly scope: LimitScope
  /** Id of the agent, project, run or task; empty for the fleet. */
  readonly id: string
  /** A UTC day, a UTC month, or empty for a run or task. */
  readonly period: string
  readonly limitNano: number
  readonly spentNano: number
  readonly openNano: number
}

/** The agent, project and run whose budgets a call is charged to. */
export interface BudgetAccount {
  readonly agentId: string
  readonly project: string | null
  readonly run: {
    readonly runId: string
    readonly budgetUsd: number | null
    readonly budgetTokens?: number | null
    readonly taskId?: string | null
    readonly capsAbove?: readonly RunCap[]
  } | null
}

/** The scope under which the sums of each kind of limit are kept. */
const sumScopes: Readonly<Record<LimitScope, (id: string) => string>> = {
  agent: agentScope,
  project: projectScope,
  fleet: () => fleetScope,
  run: runScope,
  task: taskScope,
}

/** Returns the limits with the current sums; `day` is UTC. */
export function limitsFor(
  deps: {
    readonly spend: SpendTable
    readonly budgetOf: BudgetOf
    /** Returns a run and all its descendants. */
    readonly treeOf: (runId: string) => readonly string[]
  },
  { agentId, project, run }: BudgetAccount,
  day: string,
): readonly BudgetLimit[] {
  const budgets = deps.budgetOf(agentId)
  const limits: BudgetLimit[] = []
  const add = (
    limit: Pick<BudgetLimit, 'name' | 'scope' | 'id' | 'period'>,
    limitUsd: number | null | undefined,
  ) => {
    if (limitUsd === null || limitUsd === undefined) return
    const total = deps.spend.total(sumScopes[limit.scope](limit.id), limit.period)
    limits.push({ ...limit, limitNano: nanoFromUsd(limitUsd), ...total })
  }
  const addPeriods = (scope: LimitScope, id: string, usd: PeriodLimits) => {
    add({ name: 'daily', scope, id, period: day }, usd.daily_usd)
    add({ name: 'monthly', scope, id, period: monthOf(day) }, usd.monthly_usd)
  }
  addPeriods('agent', agentId, budgets)
  if (project !== null && budgets.project?.name === project) addPeriods('project', project, budgets.project)
  if (budgets.fleet) addPeriods('fleet', '', budgets.fleet)
  if (!run) return limits
  for (const { runId, budgetUsd } of [run, ...(run.capsAbove ?? [])]) {
    if (budgetUsd === null) continue
    const limitNano = nanoFromUsd(budgetUsd)
    limits.push({ name: 'run', scope: 'run', id: runId, period: '', limitNano, ...treeTotal(deps, runId) })
  }
  const taskId = run.taskId ?? null
  if (taskId !== null) add({ name: 'task', scope: 'task', id: taskId, period: '' }, budgets.task?.max_usd)
  return limits
}

/** Returns the amounts and tokens that a run and all its descendants have spent and reserved. */
export function treeTotal(
  {
    spend,
    treeOf,
  }: Pick<Parameters<typeof limitsFor>[0], 'treeOf'> & { readonly spend: Pick<SpendTable, 'total'> },
  runId: string,
): { readonly spentNano: number; readonly openNano: number; readonly tokens: number } {
  const sum = { spentNano: 0, openNano: 0, tokens: 0 }
  for (const id of treeOf(runId)) {
    const { spentNano, openNano, tokens } = spend.total(runScope(id), '')
    sum.spentNano += spentNano
    sum.openNano += openNano
    sum.tokens += tokens
  }
  return sum
}

/** Returns the money that is neither spent nor reserved. Pure. */
export function leftIn(limit: BudgetLimit): number {
  return limit.limitNano - limit.spentNano - limit.openNano
}

export function tightestLimit(limits: readonly BudgetLimit[]): BudgetLimit {
  return limits.reduce((tightest, limit) => (leftIn(limit) < leftIn(tightest) ? limit : tightest))
}

/** Returns whether other agents or runs spend from this limit too. */
export function isShared(limit: BudgetLimit): boolean {
  return limit.scope === 'project' || limit.scope === 'fleet' || limit.scope === 'run'
}

/** Returns the UTC midnight after a day, the first day after a month; null for a limit that never resets. Pure. */
export function resetsAt(period: string): string | null {
  if (period === '') return null
  const [year = 0, month = 1, day] = period.split('-').map(Number)
  const next = day === undefined ? Date.UTC(year, month, 1) : Date.UTC(year, month - 1, day + 1)
  return new Date(next).toISOString()
}

/** Returns the Problem of a used-up limit. `leftNano` includes money that the caller has reserved and not used. */
export function exhausted(limit: BudgetLimit, leftNano: number, neededNano: number): Problem {
  const left = Math.max(0, leftNano)
  const resets = resetsAt(limit.period)
  return new Problem('budget-exhausted', {
    detail:
      `the ${limit.name} budget of ${ownerWords(limit)} has ${dollars(left)} of ${usdFromNano(limit.limitNano)} USD left ` +
      `and this call may need ${dollars(neededNano)} or more${resets === null ? '' : `; the budget resets at ${resets}`}`,
    extra: {
      budget: limit.name,
      scope: limit.scope,
      scope_id: limit.id,
      period: limit.period,
      limit_usd: usdFromNano(limit.limitNano),
      spent_usd: usdFromNano(limit.spentNano),
      reserved_usd: usdFromNano(limit.openNano),
      left_usd: usdFromNano(left),
      needed_usd: usdFromNano(neededNano),
      resets_at: resets,
    },
  })
}

/** Returns the Problem for a task that has made the maximum number of model calls. */
export function callsExhausted(
  taskId: string,
  calls: { readonly max: number; readonly made: number },
): Problem {
  return new Problem('budget-exhausted', {
    detail: `task ${taskId} has made ${calls.made} model calls and may make ${calls.max}; the giver of the task may set max_turns, and the owner sets tasks.max_calls in config/settings.json`,
    extra: {
      budget: 'task-calls',
      scope: 'task',
      scope_id: taskId,
      period: '',
      limit_calls: calls.max,
      calls: calls.made,
      resets_at: null,
    },
  })
}

function ownerWords({ scope, id }: BudgetLimit): string {
  return scope === 'fleet' ? 'the fleet' : `${scope} ${id}`
}

function dollars(nano: number): string {
  return usdFromNano(nano).toFixed(6)
}
