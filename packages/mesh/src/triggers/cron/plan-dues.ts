import { cronLimits } from '@flotilla/protocol/cron-api'
import { nextDue } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'

export interface DuePlan {
  /** The due time to fire now, or null if the last one already has a row. */
  readonly fire: number | null
  /** The unrecorded due times before `fire`, in order. Each is in at most one range. */
  readonly missed: readonly DueStretch[]
}

/**
 * Plans the due times in (`after`, `until`]: the last one fires once, however late, and earlier ones are missed. Due
 * times in `taken` already have rows, for example after the clock was set back, and are left out. Null if nothing is
 * due. Pure.
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

/** Returns a range with all due times after `after` up to `until`; empty if no due time exists. */
function wholeStretch(schedule: Schedule, after: number, until: number): DueStretch[] {
  const found = dueBetween(schedule, after, until)
  if (!found) return []
  const { latest, missed } = found
  if (!missed) return [{ first: latest, last: latest, count: 1, exact: true }]
  return [{ ...missed, last: latest, count: missed.count + 1 }]
}

/** The maximum number of due times that are counted exactly for one job. Above it the count is a lower bound. */
const countedMax = 5000

/** A range of due times. */
export interface DueStretch {
  readonly first: number
  readonly last: number
  readonly count: number
  /** False if there are more than were counted. */
  readonly exact: boolean
}

export interface DueTimes {
  /** The due time to fire: the last one that has passed. */
  readonly latest: number
  /** All due times before `latest`; null if no such time exists. */
  readonly missed: DueStretch | null
}

/** The due times in the range (`after`, `until`]; null if none exists. Pure. */
export function dueBetween(schedule: Schedule, after: number, until: number): DueTimes | null {
  const first = nextDue(schedule, after)
  if (first === null || first > until) return null
  const second = nextDue(schedule, first)
  if (second === null || second > until) return { latest: first, missed: null }
  if (schedule.kind === 'every') {
    const count = Math.floor((until - first) / schedule.everyMs)
    const latest = first + count * schedule.everyMs
    return { latest, missed: { first, last: latest - schedule.everyMs, count, exact: true } }
  }
  return countOneByOne(schedule, { first, second, until })
}

function countOneByOne(
  schedule: Schedule,
  { first, second, until }: { first: number; second: number; until: number },
): DueTimes {
  let [last, latest, count] = [first, second, 1]
  for (;;) {
    const next = nextDue(schedule, latest)
    if (next === null || next > until) return { latest, missed: { first, last, count, exact: true } }
    if (count >= countedMax) break
    ;[last, latest, count] = [latest, next, count + 1]
  }
  const ends = lastTwo(schedule, { from: latest, until })
  return { latest: ends.latest, missed: { first, last: ends.last, count, exact: false } }
}

/** The last two due times up to `until`, searched backwards in growing steps. */
function lastTwo(
  schedule: Schedule,
  { from, until }: { from: number; until: number },
): { last: number; latest: number } {
  for (let back = 120_000; ; back *= 4) {
    const start = Math.max(from, until - back)
    let found: number[] = []
    for (let due = nextDue(schedule, start); due !== null && due <= until; due = nextDue(schedule, due)) {
      found = [...found.slice(-1), due]
    }
    const [last, latest] = found
    if (last !== undefined && latest !== undefined) return { last, latest }
    // At least one due time lies between the last counted one and the end.
    if (start === from) return { last: from, latest: last ?? from }
  }
}

/** The next due time after a time; infinite for a job that is disabled or never due again. Pure. */
export function dueAfter(
  { job, schedule }: { readonly job: { readonly enabled: boolean }; readonly schedule: Schedule },
  after: number,
): number {
  return job.enabled ? (nextDue(schedule, after) ?? Infinity) : Infinity
}

/** The next due times of a job, including one that is waiting; empty for a disabled job. Pure. */
export function nextDues(
  live: {
    readonly job: { readonly enabled: boolean }
    readonly schedule: Schedule
    readonly nextDue: number
  },
  now: number,
): number[] {
  const dues: number[] = []
  let due = live.nextDue
  while (dues.length < cronLimits.nextShown && Number.isFinite(due)) {
    dues.push(due)
    // Of the due times that have passed, only the last one fires.
    due = dueAfter(live, Math.max(due, now))
  }
  return dues
}
