import { cronLimits } from '@flotilla/protocol/cron-api'
import { nextDue } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'

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

/** Due times that are counted one by one for one job at once; of more, the number is said to be at least this. */
const countedMax = 5000

/** The due times of one stretch of time, by their ends. */
export interface DueStretch {
  readonly first: number
  readonly last: number
  readonly count: number
  /** False where there are more than were counted. */
  readonly exact: boolean
}

export interface DueTimes {
  /** The one to act on: the last that has come. */
  readonly latest: number
  /** All before it; null where there are none. */
  readonly missed: DueStretch | null
}

/** What became due after `after` and until `until`, both moments; null where nothing did. Pure. */
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

/** The last two due times until `until`, looked for from its end in ever longer steps. */
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
    // Between the last that was counted and the end there is one at least.
    if (start === from) return { last: from, latest: last ?? from }
  }
}

/** When a job is due next after a moment; infinite for one that is off or never comes again. Pure. */
export function dueAfter(
  { job, schedule }: { readonly job: { readonly enabled: boolean }; readonly schedule: Schedule },
  after: number,
): number {
  return job.enabled ? (nextDue(schedule, after) ?? Infinity) : Infinity
}

/** The next few due times of a job, the one that waits to be acted on first; none for a job that is off. Pure. */
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
    // Of those that have come already only the last is acted on.
    due = dueAfter(live, Math.max(due, now))
  }
  return dues
}
