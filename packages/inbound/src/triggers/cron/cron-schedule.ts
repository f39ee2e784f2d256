import { Cron } from 'croner'
import { changeWithin, firstMomentOf, latestWallUntil, momentShowing, wallAt } from './wall-time.ts'

/**
 * The schedule of a job. Due times are points in time (milliseconds since 1970), never local times, so each is
 * unique.
 *
 * Daylight saving time, for cron expressions in a zone that has it: if minutes and hours are fixed numbers (no `*`,
 * no step), the job fires once. In the spring gap it fires at the first valid time; in autumn at the first of two
 * occurrences. With a wildcard or step, the job follows the wall clock: no due time in the gap, and both autumn hours
 * count. Intervals ignore wall clocks.
 */
export type Schedule =
  | {
      readonly kind: 'every'
      /** The effective interval, at least one tick. */
      readonly everyMs: number
      /** Due times are whole intervals after this time. */
      readonly anchor: number
    }
  | { readonly kind: 'cron'; readonly expression: string; readonly timezone: string }

/** Returns the first due time after `after`, or null if none exists. Pure. */
export function nextDue(schedule: Schedule, after: number): number | null {
  if (schedule.kind === 'every') {
    const { everyMs, anchor } = schedule
    return anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs
  }
  return isNamed(schedule.expression) ? nextNamed(schedule, after) : nextShown(schedule, after)
}

type CronSchedule = Extract<Schedule, { kind: 'cron' }>

/** True if minutes and hours consist only of numbers, lists and ranges. */
function isNamed(expression: string): boolean {
  const [minutes = '', hours = ''] = expression.split(' ')
  return !/[*/]/.test(minutes + hours)
}

/** Returns the next fixed time, which is due once: when the clocks first show it, or when they skip it. */
function nextNamed({ expression, timezone }: CronSchedule, after: number): number | null {
  const wall = nextWall(expression, latestWallUntil(timezone, after))
  return wall === null ? null : firstMomentOf(timezone, wall)
}

/** Returns the next time after `after` at which the clocks show a time of the expression. */
function nextShown({ expression, timezone }: CronSchedule, after: number): number | null {
  const ahead = nextUnrepeated({ expression, timezone }, after)
  const change = changeWithin(timezone, after, after + changeReachMs)
  if (change === null || change.after >= change.before) return ahead
  // The clocks will be set back and show earlier wall times a second time.
  const wall = nextWall(expression, change.at + change.after - 1)
  const again = wall === null ? Infinity : wall - change.after
  return Math.min(ahead ?? Infinity, again)
}

/** Returns what `nextShown` does, but only for wall times later than the wall time at `after`. */
function nextUnrepeated({ expression, timezone }: Omit<CronSchedule, 'kind'>, after: number): number | null {
  let wall = nextWall(expression, wallAt(timezone, after))
  while (wall !== null) {
    const at = momentShowing(timezone, wall, after)
    if (at !== null) return at
    // The wall time is in a gap of the clocks, so the search continues after the gap.
    wall = nextWall(expression, wallAt(timezone, firstMomentOf(timezone, wall)) - 1)
  }
  return null
}

/** How far ahead the code searches for a change of the clocks that repeats wall times, in milliseconds. */
const changeReachMs = 86_400_000

/** Returns the expression's first wall time after a wall time. croner computes in UTC, whose clocks never change. */
function nextWall(expression: string, after: number): number | null {
  return cronOf(expression).nextRun(new Date(after))?.getTime() ?? null
}

/**
 * How many parsed expressions are cached; the least recently used is removed. Each takes about 79
 * KB, too much for one per job. The cache belongs to a pure function.
 */
const parsedMax = 64
const parsed = new Map<string, Cron>()

/** Returns the parsed pattern of a valid expression, computed in UTC. */
export function cronOf(expression: string): Cron {
  const known = parsed.get(expression)
  if (known) {
    parsed.delete(expression)
    parsed.set(expression, known)
    return known
  }
  const cron = new Cron(expression, { mode: '5-part', paused: true, utcOffset: 0 })
  parsed.set(expression, cron)
  if (parsed.size > parsedMax) parsed.delete(parsed.keys().next().value ?? '')
  return cron
}
