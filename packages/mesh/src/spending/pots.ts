import { Problem } from '@flotilla/protocol/problem'
import type { RunCap } from '../access/run-ticket.ts'
import { nanoFromUsd, usdFromNano } from './money.ts'
import { agentScope, fleetScope, monthOf, projectScope, runScope, taskScope } from './spend-table.ts'
import type { SpendTable } from './spend-table.ts'

/** Null where nobody has set one: then no such limit. */
export interface PeriodLimits {
  readonly daily_usd: number | null
  readonly monthly_usd: number | null
}

/** What an agent's calls must fit into, all at once. */
export interface Budgets {
  readonly daily_usd: number
  readonly monthly_usd: number
  /** The project that it belongs to. */
  readonly project?: (PeriodLimits & { readonly name: string }) | null
  readonly fleet?: PeriodLimits
  /** Of every task for itself, over all runs that work on it. */
  readonly task?: { readonly max_usd: number | null; readonly max_calls: number }
}

export type BudgetOf = (agentId: string) => Budgets

export type PotScope = 'agent' | 'project' | 'fleet' | 'run' | 'task'

/** Money that a call is paid from; a call must fit into each of its pots. */
export interface Pot {
  readonly name: 'daily' | 'monthly' | 'run' | 'task'
  readonly scope: PotScope
  /** Of the agent, project, run or task; empty for the fleet. */
  readonly id: string
  /** A day, a month, or empty. */
  readonly period: string
  readonly limitNano: number
  readonly spentNano: number
  readonly openNano: number
}

/** Whose money it is. */
export interface Purse {
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

/** Under which scope each is summed. */
const sumScopes: Readonly<Record<PotScope, (id: string) => string>> = {
  agent: agentScope,
  project: projectScope,
  fleet: () => fleetScope,
  run: runScope,
  task: taskScope,
}

/** As they stand in the sums now; `day` is UTC. */
export function potsOf(
  deps: {
    readonly spend: SpendTable
    readonly budgetOf: BudgetOf
    /** A run and all that work for it, near or far. */
    readonly treeOf: (runId: string) => readonly string[]
  },
  { agentId, project, run }: Purse,
  day: string,
): readonly Pot[] {
  const budgets = deps.budgetOf(agentId)
  const pots: Pot[] = []
  const add = (pot: Pick<Pot, 'name' | 'scope' | 'id' | 'period'>, limitUsd: number | null | undefined) => {
    if (limitUsd === null || limitUsd === undefined) return
    const total = deps.spend.total(sumScopes[pot.scope](pot.id), pot.period)
    pots.push({ ...pot, limitNano: nanoFromUsd(limitUsd), ...total })
  }
  const addPeriods = (scope: PotScope, id: string, limits: PeriodLimits) => {
    add({ name: 'daily', scope, id, period: day }, limits.daily_usd)
    add({ name: 'monthly', scope, id, period: monthOf(day) }, limits.monthly_usd)
  }
  addPeriods('agent', agentId, budgets)
  if (project !== null && budgets.project?.name === project) addPeriods('project', project, budgets.project)
  if (budgets.fleet) addPeriods('fleet', '', budgets.fleet)
  if (!run) return pots
  for (const { runId, budgetUsd } of [run, ...(run.capsAbove ?? [])]) {
    if (budgetUsd === null) continue
    const limitNano = nanoFromUsd(budgetUsd)
    pots.push({ name: 'run', scope: 'run', id: runId, period: '', limitNano, ...treeTotal(deps, runId) })
  }
  const taskId = run.taskId ?? null
  if (taskId !== null) add({ name: 'task', scope: 'task', id: taskId, period: '' }, budgets.task?.max_usd)
  return pots
}

/** What a run and all that work for it have used and set aside. */
export function treeTotal(
  {
    spend,
    treeOf,
  }: Pick<Parameters<typeof potsOf>[0], 'treeOf'> & { readonly spend: Pick<SpendTable, 'total'> },
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

/** What is neither spent nor set aside. Pure. */
export function leftIn(pot: Pot): number {
  return pot.limitNano - pot.spentNano - pot.openNano
}

export function tightestPot(pots: readonly Pot[]): Pot {
  return pots.reduce((tightest, pot) => (leftIn(pot) < leftIn(tightest) ? pot : tightest))
}

/** Other agents pay from it too. */
export function isShared(pot: Pot): boolean {
  return pot.scope === 'project' || pot.scope === 'fleet' || pot.scope === 'run'
}

/** Midnight after a UTC day, or the first of the month after a month; null for a pot that never starts anew. Pure. */
export function resetsAt(period: string): string | null {
  if (period === '') return null
  const [year = 0, month = 1, day] = period.split('-').map(Number)
  const next = day === undefined ? Date.UTC(year, month, 1) : Date.UTC(year, month - 1, day + 1)
  return new Date(next).toISOString()
}

/** `leftNano` is what is left with what the asker itself has set aside and not used. */
export function exhausted(pot: Pot, leftNano: number, neededNano: number): Problem {
  const left = Math.max(0, leftNano)
  const resets = resetsAt(pot.period)
  return new Problem('budget-exhausted', {
    detail:
      `the ${pot.name} budget of ${potWords(pot)} has ${dollars(left)} of ${usdFromNano(pot.limitNano)} USD left ` +
      `and this call may need ${dollars(neededNano)} or more${resets === null ? '' : `; it starts anew at ${resets}`}`,
    extra: {
      budget: pot.name,
      scope: pot.scope,
      scope_id: pot.id,
      period: pot.period,
      limit_usd: usdFromNano(pot.limitNano),
      spent_usd: usdFromNano(pot.spentNano),
      reserved_usd: usdFromNano(pot.openNano),
      left_usd: usdFromNano(left),
      needed_usd: usdFromNano(neededNano),
      resets_at: resets,
    },
  })
}

/** A task has made all the calls that it may. */
export function callsExhausted(
  taskId: string,
  calls: { readonly max: number; readonly made: number },
): Problem {
  return new Problem('budget-exhausted', {
    detail: `task ${taskId} has made ${calls.made} model calls and may make ${calls.max}; the owner sets tasks.max_calls in config/settings.json`,
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

function potWords({ scope, id }: Pot): string {
  return scope === 'fleet' ? 'the fleet' : `${scope} ${id}`
}

function dollars(nano: number): string {
  return usdFromNano(nano).toFixed(6)
}
