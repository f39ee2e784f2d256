import type { Schedule } from './cron-schedule.ts'
import { dueBetween } from './due-times.ts'
import type { DueStretch } from './due-times.ts'

export interface DuePlan {
  /** The due time to act on now, or null where the last one that has come has its row already. */
  readonly fire: number | null
  /** Those before it that nothing was done about, in order; each due time is in one of them at most. */
  readonly missed: readonly DueStretch[]
}

/**
 * What is to be done about the due times after `after` and until `until`: the last is acted on once, however late, and
 * those before it are missed. `taken` are due times there that have rows of their own already, as after a clock that
 * was set back; they are left out. Null where nothing is due. Pure.
 */
export function planDues(
  schedule: Schedule,
  { after, until, taken }: { after: number; until: number; taken: readonly number[] },
): DuePlan | null {
  const missed: DueStretch[] = []
  let from = after
  for (const own of [...taken].sort((left, right) => left - right)) {
    if (own <= from || own > until) continue
    missed.push(...wholeStretch(schedule, from, own - 1))
    from = own
  }
  const rest = dueBetween(schedule, from, until)
  if (rest?.missed) missed.push(rest.missed)
  if (!rest && missed.length === 0) return null
  return { fire: rest?.latest ?? null, missed }
}

/** All due times of a stretch that another one follows: none of them is the last. */
function wholeStretch(schedule: Schedule, after: number, until: number): DueStretch[] {
  const found = dueBetween(schedule, after, until)
  if (!found) return []
  const { latest, missed } = found
  if (!missed) return [{ first: latest, last: latest, count: 1, exact: true }]
  return [{ ...missed, last: latest, count: missed.count + 1 }]
}
