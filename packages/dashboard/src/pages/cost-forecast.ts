/** Maximum number of full days that the daily rate is calculated from. */
const rateDays = 7
const dayMs = 86_400_000

export interface CostForecast {
  /** Cost since the first of the month, US dollars. */
  readonly monthUsd: number
  /** Average cost of a recent full day, US dollars. */
  readonly dayUsd: number
  /** Expected cost of the whole month at the recent rate, US dollars. */
  readonly forecastUsd: number
}

/**
 * Forecasts the cost of the month: the cost so far plus the recent daily rate for each remaining day, and for the
 * rest of today. `days` are UTC days with their spend; days without spend may be missing, and days before the first
 * one do not count for the rate. Pure.
 */
export function forecastMonth(
  days: readonly { readonly key: string; readonly usd: number }[],
  now: number,
): CostForecast {
  const spent = new Map(days.map(({ key, usd }) => [key, usd]))
  const today = Math.floor(now / dayMs) * dayMs
  const of = (at: number): number => spent.get(new Date(at).toISOString().slice(0, 10)) ?? 0
  const first = days.reduce(
    (least, { key, usd }) => (usd > 0 ? Math.min(least, Date.parse(`${key}T00:00:00Z`)) : least),
    today,
  )
  const full = Math.min(rateDays, Math.round((today - first) / dayMs))
  const lately = Array.from({ length: full }, (_, index) => of(today - (index + 1) * dayMs))
  const dayUsd = full === 0 ? of(today) : lately.reduce((sum, usd) => sum + usd, 0) / full
  const at = new Date(today)
  const from = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)
  const until = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
  let monthUsd = 0
  for (let day = from; day <= today; day += dayMs) monthUsd += of(day)
  const daysLeft = Math.round((until - today) / dayMs) - 1
  return { monthUsd, dayUsd, forecastUsd: monthUsd + Math.max(0, dayUsd - of(today)) + daysLeft * dayUsd }
}
