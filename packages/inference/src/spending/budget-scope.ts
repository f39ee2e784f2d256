import { limits } from '@flotilla/protocol/limits'
import type { BudgetScopeKind } from '@flotilla/protocol/money-api'
import { projectNameSchema } from '@flotilla/protocol/money-api'
import { Problem } from '@flotilla/protocol/problem'

/** The owner of a budget. `id` is empty for the fleet. Pure. */
export interface BudgetScope {
  readonly scope: BudgetScopeKind
  readonly id: string
}

/** The limits of a budget, US dollars; null if there is no limit. Budgets of agents always have limits. */
export interface BudgetLimits {
  readonly dailyUsd: number | null
  readonly monthlyUsd: number | null
}

/** An omitted period stays unchanged. */
export interface BudgetEdit {
  readonly daily_usd?: number | null | undefined
  readonly monthly_usd?: number | null | undefined
}

const ranges = { daily_usd: limits.budgetDailyUsd, monthly_usd: limits.budgetMonthlyUsd } as const

/** Returns the scope as the audit log and the table write it. */
export function scopeText({ scope, id }: BudgetScope): string {
  return scope === 'fleet' ? 'fleet' : `${scope}:${id}`
}

/** Problem `bad-request`. */
export function requireScope({ scope, id }: BudgetScope): void {
  if (scope === 'fleet' && id !== '') {
    throw new Problem('bad-request', { detail: 'id: the fleet has no id; leave the field out' })
  }
  if (scope === 'project' && !projectNameSchema.safeParse(id).success) {
    throw new Problem('bad-request', { detail: 'id: a project is 1 to 64 of a-z 0-9 _ -' })
  }
}

/** Returns the limits after the edit. Problem `bad-request` with field and range if a number is outside of it. */
export function edited(before: BudgetLimits, edit: BudgetEdit, scope: BudgetScopeKind): BudgetLimits {
  if (edit.daily_usd === undefined && edit.monthly_usd === undefined) {
    throw new Problem('bad-request', { detail: 'give daily_usd, monthly_usd or both' })
  }
  return {
    dailyUsd: checked('daily_usd', edit.daily_usd, scope) ?? keep(edit.daily_usd, before.dailyUsd),
    monthlyUsd: checked('monthly_usd', edit.monthly_usd, scope) ?? keep(edit.monthly_usd, before.monthlyUsd),
  }
}

function keep(edit: number | null | undefined, before: number | null): number | null {
  return edit === undefined ? before : null
}

function checked(
  field: keyof typeof ranges,
  value: number | null | undefined,
  scope: BudgetScopeKind,
): number | null {
  if (value === undefined || (value === null && scope !== 'agent')) return null
  const { min, max } = ranges[field]
  if (value !== null && value >= min && value <= max) return value
  const reason = value === null ? 'an agent always has this limit' : `not ${value}`
  throw new Problem('bad-request', {
    detail: `${field} is USD ${min} to ${max}, ${reason}`,
    extra: { field, min, max, value },
    repair: repairOf(field, scope),
  })
}

function repairOf(field: keyof typeof ranges, scope: BudgetScopeKind): string {
  const option = field === 'daily_usd' ? '--daily' : '--monthly'
  const { min, max } = ranges[field]
  const whose = scope === 'agent' ? 'AGENT' : scope === 'project' ? 'project:NAME' : 'fleet'
  const open = scope === 'agent' ? '' : ', or none to remove the limit'
  return `Give ${field} from ${min} to ${max}: flotilla budget ${whose} ${option} USD${open}; flotilla budget shows what is set.`
}
