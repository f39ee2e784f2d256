import { CronDate, CronExpressionParser } from 'cron-parser'

const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Computes due times with independent code for tests: `cron-parser` reads the fields on a clock without daylight
 * saving time, and `luxon` finds the times at which the clocks of the zone show the result. Only the rule in between
 * is our own; `cron-parser` has another (see its own due times below).
 */
export function oracleDueTimes(
  expression: string,
  { timezone, after, until }: { timezone: string; after: number; until: number },
): number[] {
  const [minutes = '', hours = ''] = expression.split(' ')
  const named = !/[*/]/.test(minutes + hours)
  const due = new Set<number>()
  for (const wall of parserDueTimes(expression, {
    timezone: 'UTC',
    after: after - dayMs,
    until: until + dayMs,
  })) {
    const moments = momentsOf(wall, timezone)
    // A fixed time occurs once; if no clock shows it, it occurs when the clocks have moved. Other times are those
    // that clocks show.
    const [first] = moments.length > 0 ? moments : [endOfGap(wall, timezone)]
    for (const moment of named ? [first ?? 0] : moments) due.add(moment)
  }
  return [...due].filter((at) => at > after && at <= until).sort((left, right) => left - right)
}

/** Due times as `cron-parser` computes them in the zone itself, with its own rule for daylight saving time. */
export function parserDueTimes(
  expression: string,
  { timezone, after, until }: { timezone: string; after: number; until: number },
): number[] {
  const parsed = CronExpressionParser.parse(expression, { currentDate: new Date(after), tz: timezone })
  const found: number[] = []
  for (;;) {
    const at = parsed.next().getTime()
    if (at > until) return found
    found.push(at)
  }
}

/** True if the clocks of the zone change within `reachMs` before or after this time. */
export function isNearChange(timezone: string, at: number, reachMs: number): boolean {
  return (
    offsetMs(timezone, at - reachMs) !== offsetMs(timezone, at) ||
    offsetMs(timezone, at + reachMs) !== offsetMs(timezone, at)
  )
}

/**
 * The times at which the clocks of a zone show this wall time (given as if it were UTC): none, one or two, in order.
 */
function momentsOf(wall: number, timezone: string): number[] {
  const offsets = [offsetMs(timezone, wall - dayMs), offsetMs(timezone, wall + dayMs)]
  const moments = offsets.map((offset) => wall - offset)
  return [...new Set(moments)]
    .filter((at) => at + offsetMs(timezone, at) === wall)
    .sort((left, right) => left - right)
}

/** The first time at which the clocks of the zone show more than this wall time. */
function endOfGap(wall: number, timezone: string): number {
  let [before, beyond] = [wall - dayMs, wall + dayMs]
  while (beyond - before > 1) {
    const middle = Math.floor((before + beyond) / 2)
    if (middle + offsetMs(timezone, middle) > wall) beyond = middle
    else before = middle
  }
  return beyond
}

function offsetMs(timezone: string, at: number): number {
  return new CronDate(new Date(at), timezone).getUTCOffset() * minuteMs
}
