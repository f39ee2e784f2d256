import { cronLimits } from '@flotilla/protocol/cron-api'
import { nextDue } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'

export interface DuePlan {
  /** The due time to fire now, or null if the last one already has a row. */
  readonly fire: number | null
  /** The unrecorded due times before `fire`, in order. Each is in at most one range. */
  readonly missed: readonly DueStretch[]
}

/** The due times to plan: those in (`after`, `until`] except those in `taken`, which already have rows. */
export interface DueRange {
  readonly after: number
  readonly until: number
  readonly taken: readonly number[]
}

/** How many due times one step computes; a due time of an expression takes about 60 microseconds. */
const duesPerStep = 50
/** How many due times are counted exactly if the plan is made without steps. */
const countedAtOnceMax = 500

/**
 * Plans the due times in (`after`, `until`]: the last one fires once, however late, and earlier ones are missed. Due
 * times in `taken` already have rows, for example after the clock was set back, and are left out. Null if nothing is
 * due. Pure.
 */
export function planDues(schedule: Schedule, range: DueRange): DuePlan | null {
  return whole(planDuesInSteps(schedule, range, countedAtOnceMax))
}

/** Plans as `planDues` does, but counts more due times exactly; the caller yields to the event loop between steps. */
export function* planDuesInSteps(
  schedule: Schedule,
  { after, until, taken }: DueRange,
  exactMax = countedMax,
): Generator<void, DuePlan | null> {
  const missed: DueStretch[] = []
  let from = after
  for (const own of [...taken].sort((left, right) => left - right)) {
    if (own <= from || own > until) continue
    missed.push(...(yield* wholeStretch(schedule, { from, until: own - 1, exactMax })))
    from = own
  }
  const rest = yield* duesInSteps(schedule, { from, until, exactMax })
  if (rest?.missed) missed.push(rest.missed)
  if (!rest && missed.length === 0) return null
  return { fire: rest?.latest ?? null, missed }
}

function whole<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

interface Counting {
  readonly from: number
  readonly until: number
  readonly exactMax: number
}

/** Returns a range with all due times after `after` up to `until`; empty if no due time exists. */
function* wholeStretch(schedule: Schedule, counting: Counting): Generator<void, DueStretch[]> {
  const found = yield* duesInSteps(schedule, counting)
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
  /** False if `count` is a lower bound, because more due times exist than were counted. */
  readonly exact: boolean
}

export interface DueTimes {
  /** The due time to fire: the last one that has passed. */
  readonly latest: number
  /** All due times before `latest`; null if no such time exists. */
  readonly missed: DueStretch | null
}

/** Returns the due times in the range (`after`, `until`]; null if none exists. Pure. */
export function dueBetween(schedule: Schedule, after: number, until: number): DueTimes | null {
  return whole(duesInSteps(schedule, { from: after, until, exactMax: countedMax }))
}

function* duesInSteps(
  schedule: Schedule,
  { from, until, exactMax }: Counting,
): Generator<void, DueTimes | null> {
  const first = nextDue(schedule, from)
  if (first === null || first > until) return null
  const second = nextDue(schedule, first)
  if (second === null || second > until) return { latest: first, missed: null }
  if (schedule.kind === 'every') {
    const count = Math.floor((until - first) / schedule.everyMs)
    const latest = first + count * schedule.everyMs
    return { latest, missed: { first, last: latest - schedule.everyMs, count, exact: true } }
  }
  let [last, latest, count] = [first, second, 1]
  for (;;) {
    const next = nextDue(schedule, latest)
    if (next === null || next > until) return { latest, missed: { first, last, count, exact: true } }
    if (count >= exactMax) break
    ;[last, latest, count] = [latest, next, count + 1]
    if (count % duesPerStep === 0) yield
  }
  const end = yield* lastDue(schedule, { from: latest, until })
  const before = yield* lastDue(schedule, { from: last, until: end - 1 })
  return { latest: end, missed: { first, last: before, count, exact: false } }
}

/**
 * Returns the last due time in (`from`, `until`], which contains one. Halves the range to compute
 * few due times. A due time behind a gap of months takes milliseconds, so each one is a step.
 */
function* lastDue(
  schedule: Schedule,
  { from, until }: { from: number; until: number },
): Generator<void, number> {
  let [low, high] = [from, until]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const next = nextDue(schedule, middle)
    yield
    // A due time exists between the middle and the end, so the last due time is `next` or later.
    if (next !== null && next <= until) low = next - 1
    else high = middle
  }
  return high
}

/** Returns the next due time after a time; infinite for a job that is disabled or never due again. Pure. */
export function dueAfter(
  { job, schedule }: { readonly job: { readonly enabled: boolean }; readonly schedule: Schedule },
  after: number,
): number {
  return job.enabled ? (nextDue(schedule, after) ?? Infinity) : Infinity
}

/** Returns the next due times of a job, including a due time that waits; empty for a disabled job. Pure. */
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
