import { Cron } from 'croner'
import { changeWithin, firstMomentOf, latestWallUntil, momentShowing, wallAt } from './wall-time.ts'

/**
 * When a job is due. Due times are moments (milliseconds since 1970), never local times, so that each stands once.
 *
 * DST, for cron expressions in a time zone that has it: a job whose minutes and hours are named (no `*`, no step) fires
 * at the first valid moment where its time falls into the gap of spring, and once, at the first of the two, where its
 * time comes twice in autumn. A job with a wildcard or step there follows the clock on the wall: it has no due time in
 * the gap, and fires in both hours of autumn. Intervals do not know of clocks on walls at all.
 */
export type Schedule =
  | {
      readonly kind: 'every'
      /** What is kept to; never less than a tick. */
      readonly everyMs: number
      /** Due times are whole intervals after this moment. */
      readonly anchor: number
    }
  | { readonly kind: 'cron'; readonly expression: string; readonly timezone: string }

/** The first due time after `after`, or null where there is none. Pure. */
export function nextDue(schedule: Schedule, after: number): number | null {
  if (schedule.kind === 'every') {
    const { everyMs, anchor } = schedule
    return anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs
  }
  return isNamed(schedule.expression) ? nextNamed(schedule, after) : nextShown(schedule, after)
}

type CronSchedule = Extract<Schedule, { kind: 'cron' }>

/** Whether minutes and hours are numbers, lists and ranges alone. */
function isNamed(expression: string): boolean {
  const [minutes = '', hours = ''] = expression.split(' ')
  return !/[*/]/.test(minutes + hours)
}

/** A named time comes once: when the clocks show it first, or when they have leapt over it. */
function nextNamed({ expression, timezone }: CronSchedule, after: number): number | null {
  const wall = nextWall(expression, latestWallUntil(timezone, after))
  return wall === null ? null : firstMomentOf(timezone, wall)
}

/** Each moment at which the clocks show a time of the expression. */
function nextShown({ expression, timezone }: CronSchedule, after: number): number | null {
  const ahead = nextUnrepeated({ expression, timezone }, after)
  const change = changeWithin(timezone, after, after + changeReachMs)
  if (change === null || change.after >= change.before) return ahead
  // The clocks will be set back, and show what they showed before `after` a second time.
  const wall = nextWall(expression, change.at + change.after - 1)
  const again = wall === null ? Infinity : wall - change.after
  return Math.min(ahead ?? Infinity, again)
}

/** As `nextShown`, of the wall times that are later than what the clocks show now. */
function nextUnrepeated({ expression, timezone }: Omit<CronSchedule, 'kind'>, after: number): number | null {
  let wall = nextWall(expression, wallAt(timezone, after))
  while (wall !== null) {
    const at = momentShowing(timezone, wall, after)
    if (at !== null) return at
    // Within a gap: what the clocks show behind it is the next that can be due.
    wall = nextWall(expression, wallAt(timezone, firstMomentOf(timezone, wall)) - 1)
  }
  return null
}

/** What is set back is shown again within this time, milliseconds. */
const changeReachMs = 86_400_000

/** The first wall time of the expression after a wall time. croner sees a zone without changes. */
function nextWall(expression: string, after: number): number | null {
  return cronOf(expression).nextRun(new Date(after))?.getTime() ?? null
}

/**
 * Parsed expressions that are kept; each takes some 79 KB, so never one for each job. Least recently used go first.
 * Memory of a pure function and no state.
 */
const parsedMax = 64
const parsed = new Map<string, Cron>()

/** The pattern of an expression that was read whole, on a clock that shows UTC. */
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
