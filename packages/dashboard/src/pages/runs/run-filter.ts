/** Periods by which runs are filtered, with their length in days. */
export const runPeriods = { 'last hour': 1 / 24, today: 1, 'last 7 days': 7, 'last 30 days': 30 } as const
/** The choice of a period by its first and last day. */
export const chosenDays = 'days …'
export type RunPeriod = keyof typeof runPeriods

const dayMs = 86_400_000
const dayPattern = /^\d{4}-\d{2}-\d{2}$/

/** A period as the address of a page names it. */
export interface AskedPeriod {
  /** The name of a period; empty for none. */
  readonly when: string
  /** Days in the reader's time zone, such as `2026-11-28`, both included; empty for none. */
  readonly from: string
  readonly until: string
}

/**
 * Returns the bounds of a period in milliseconds since 1970; fields that are no days are left out. `today` begins at
 * midnight of the reader. Pure.
 */
export function periodBounds(
  { when, from, until }: AskedPeriod,
  now: number,
): { readonly since?: number; readonly until?: number } {
  if (when === 'today') return { since: new Date(now).setHours(0, 0, 0, 0) }
  const days = Object.hasOwn(runPeriods, when) ? runPeriods[when as RunPeriod] : undefined
  // Rounded to a minute, so that the same question is not asked again with each rendering.
  if (days !== undefined) return { since: Math.floor((now - days * dayMs) / 60_000) * 60_000 }
  const first = dayBegin(from)
  const last = dayBegin(until)
  return {
    ...(first === null ? {} : { since: first }),
    ...(last === null ? {} : { until: new Date(last).setHours(24, 0, 0, 0) }),
  }
}

function dayBegin(day: string): number | null {
  const at = dayPattern.test(day) ? new Date(`${day}T00:00:00`).getTime() : Number.NaN
  return Number.isNaN(at) || at < 0 ? null : at
}
