/** Full days that the rate is taken from, at most. */
const rateDays = 7
const dayMs = 86_400_000

export interface CostForecast {
  /** Since the first of the month, US dollars. */
  readonly monthUsd: number
  /** Of a full day lately. */
  readonly dayUsd: number
  /** What the month will have cost if it goes on like that. */
  readonly forecastUsd: number
}

/**
 * What the month will cost: what it has cost, and for each day that is left what a day has cost lately, of today what is
 * left of that. `days` are UTC days with their spend, those without may be missing; days before the first are no part of
 * the rate. Pure.
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
