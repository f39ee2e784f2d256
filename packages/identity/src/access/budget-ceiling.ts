/** US dollars; null for no limit. */
interface PeriodLimits {
  readonly dailyUsd: number | null
  readonly monthlyUsd: number | null
}

export interface RaisedPeriod {
  readonly field: 'daily_usd' | 'monthly_usd'
  readonly reason: string
}

/**
 * Returns the first period in which `after` allows more spending than `before`; null without such a period. Removing
 * a limit counts as raising it, adding a limit as lowering it. Pure.
 */
export function raisedPeriod(before: PeriodLimits, after: PeriodLimits): RaisedPeriod | null {
  const raised = (
    field: RaisedPeriod['field'],
    was: number | null,
    requested: number | null,
  ): RaisedPeriod | null => {
    if (was === null || (requested !== null && requested <= was)) return null
    const limitText = requested === null ? 'no limit' : `${requested}`
    return {
      field,
      reason: `${limitText} is more than the current USD ${was}; only a person at the terminal may raise this budget`,
    }
  }
  return (
    raised('daily_usd', before.dailyUsd, after.dailyUsd) ??
    raised('monthly_usd', before.monthlyUsd, after.monthlyUsd)
  )
}
