const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Computes due times by brute force, for tests: `Intl` gives the zone's wall time of every minute of the period,
 * and each is compared with the five fields. It uses no cron library and no offset arithmetic, so that only the
 * rule of `cron-schedule.ts` and the machine's time zone database decide.
 *
 * Fields are `*`, numbers, lists, ranges and steps; names of days and months are not supported.
 */
export function minuteOracle(
  timezone: string,
  { after, until }: { readonly after: number; readonly until: number },
): (expression: string) => number[] {
  const shown = shownMinutes(timezone, after, until)
  return (expression) => {
    const matches = matcherOf(expression)
    const [minutes = '', hours = ''] = expression.split(' ')
    const moments = /[*/]/.test(minutes + hours)
      ? shown.filter(({ wall }) => matches(wall)).map(({ at }) => at)
      : namedMoments(shown, matches)
    return [...new Set(moments)].filter((at) => at > after && at <= until)
  }
}

/** The times (to the minute) at which a zone's offset from UTC changes. */
export function clockChanges(
  timezone: string,
  { from, until }: { readonly from: number; readonly until: number },
): number[] {
  const wallAt = wallReader(timezone)
  const offsetAt = (at: number) => wallAt(at) - at
  const changes: number[] = []
  for (let day = from; day < until; day += dayMs) {
    if (offsetAt(day) === offsetAt(day + dayMs)) continue
    let [before, beyond] = [day, day + dayMs]
    while (beyond - before > minuteMs) {
      const middle = before + Math.floor((beyond - before) / 2 / minuteMs) * minuteMs
      if (offsetAt(middle) === offsetAt(day)) before = middle
      else beyond = middle
    }
    changes.push(beyond)
  }
  return changes
}

interface ShownMinute {
  readonly at: number
  /** What the clocks show, as if it were UTC. */
  readonly wall: number
}

/** Every minute from two days before `after`, so that what the clocks showed before a change is known. */
function shownMinutes(timezone: string, after: number, until: number): ShownMinute[] {
  const wallAt = wallReader(timezone)
  const shown: ShownMinute[] = []
  const first = Math.floor(after / minuteMs) * minuteMs - 2 * dayMs
  for (let at = first; at <= until; at += minuteMs) shown.push({ at, wall: wallAt(at) })
  return shown
}

/** A named time is due when the clocks first show it or, after a gap, a later time. */
function namedMoments(shown: readonly ShownMinute[], matches: (wall: number) => boolean): number[] {
  const moments: number[] = []
  let next = shown[0]?.wall ?? 0
  for (const { at, wall } of shown) {
    for (; next <= wall; next += minuteMs) if (matches(next)) moments.push(at)
  }
  return moments
}

function matcherOf(expression: string): (wall: number) => boolean {
  const [minutes, hours, days, months, weekdays] = expression.split(' ').map(valuesOf)
  const [, , dayWords, , weekdayWords] = expression.split(' ')
  return (wall) => {
    const date = new Date(wall)
    const day = days!(date.getUTCDate())
    const weekday = weekdays!(date.getUTCDay()) || (date.getUTCDay() === 0 && weekdays!(7))
    const isDay =
      dayWords === '*' ? weekdayWords === '*' || weekday : weekdayWords === '*' ? day : day || weekday
    return (
      isDay && minutes!(date.getUTCMinutes()) && hours!(date.getUTCHours()) && months!(date.getUTCMonth() + 1)
    )
  }
}

function valuesOf(field: string, at: number): (value: number) => boolean {
  const least = at === 2 || at === 3 ? 1 : 0
  const parts = field.split(',').map((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [from, to] = range === '*' ? [least, Infinity] : range.split('-').map(Number)
    const last = to ?? (part.includes('/') ? Infinity : from!)
    return (value: number) => value >= from! && value <= last && (value - from!) % Number(step) === 0
  })
  return (value) => parts.some((isIn) => isIn(value))
}

function wallReader(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  return (at) => {
    // "10/25/2026, 02:30"
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = format.format(at).split(/\D+/).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute)
  }
}
