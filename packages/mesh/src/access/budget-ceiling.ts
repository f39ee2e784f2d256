/** US dollars; null where there is no limit. */
interface PeriodLimits {
  readonly dailyUsd: number | null
  readonly monthlyUsd: number | null
}

export interface RaisedPeriod {
  readonly field: 'daily_usd' | 'monthly_usd'
  readonly reason: string
}

/**
 * The first period in which `after` lets more be spent than `before`, or null. A limit that is taken away raises, one
 * where none was lowers. Pure.
 */
export function raisedPeriod(before: PeriodLimits, after: PeriodLimits): RaisedPeriod | null {
  const raised = (
    field: RaisedPeriod['field'],
    was: number | null,
    wanted: number | null,
  ): RaisedPeriod | null => {
    if (was === null || (wanted !== null && wanted <= was)) return null
    const words = wanted === null ? 'no limit' : `${wanted}`
    return { field, reason: `${words} is more than USD ${was}, and only a person at the terminal raises it` }
  }
  return (
    raised('daily_usd', before.dailyUsd, after.dailyUsd) ??
    raised('monthly_usd', before.monthlyUsd, after.monthlyUsd)
  )
}
