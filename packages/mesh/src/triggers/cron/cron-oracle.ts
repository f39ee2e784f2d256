/**
 * Due times by brute force, for tests: every minute of a stretch is looked at on the wall of its zone, by `Intl` alone.
 * It shares no code with what it judges.
 */
export function oracleDueTimes(
  expression: string,
  { timezone, after, until }: { timezone: string; after: number; until: number },
): number[] {
  const [minutes, hours, days, months, weekdays] = expression.toUpperCase().split(' ')
  const wanted = {
    minute: fieldSet(minutes, 0, 59),
    hour: fieldSet(hours, 0, 23),
    day: fieldSet(days, 1, 31),
    month: fieldSet(named(months, 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC', 1), 1, 12),
    weekday: fieldSet(named(weekdays, 'SUN MON TUE WED THU FRI SAT', 0), 0, 7),
  }
  if (wanted.weekday.has(7)) wanted.weekday.add(0)
  const fixed = !/[*/]/.test(`${minutes ?? ''}${hours ?? ''}`)
  const dayOk = (wall: Wall): boolean => {
    const [byDate, byWeekday] = [wanted.day.has(wall.day), wanted.weekday.has(wall.weekday)]
    if (days === '*') return byWeekday
    return weekdays === '*' ? byDate : byDate || byWeekday
  }
  const matches = (wall: Wall): boolean =>
    wanted.minute.has(wall.minute) &&
    wanted.hour.has(wall.hour) &&
    wanted.month.has(wall.month) &&
    dayOk(wall)

  const due = new Set<number>()
  // A day before, so that what the stretch repeats of the wall has been seen.
  const start = Math.floor((after - day) / minute) * minute
  const seen = new Set<string>()
  let before = wallAt(timezone, start - minute)
  for (let at = start; at <= until; at += minute) {
    const wall = wallAt(timezone, at)
    if (fixed) {
      // Minutes of the wall that were leapt over fall due at the first one after them.
      for (let skipped = before.serial + minute; skipped < wall.serial; skipped += minute) {
        if (matches(wallOf(skipped))) due.add(at)
      }
    }
    const again = seen.has(wall.key)
    seen.add(wall.key)
    if (matches(wall) && !(fixed && again)) due.add(at)
    before = wall
  }
  return [...due].filter((at) => at > after && at <= until)
}

const minute = 60_000
const day = 86_400_000

interface Wall {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: number
  readonly key: string
  /** The wall as if it were UTC, milliseconds. */
  readonly serial: number
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function wallAt(timezone: string, at: number): Wall {
  let format = formatters.get(timezone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
    formatters.set(timezone, format)
  }
  const [date = '', time = ''] = format.format(at).split(', ')
  const [dayOfMonth, month, year] = date.split('/').map(Number)
  const [hour, minutes] = time.split(':').map(Number)
  return wallOf(Date.UTC(year ?? 0, (month ?? 1) - 1, dayOfMonth, hour, minutes))
}

function wallOf(serial: number): Wall {
  const date = new Date(serial)
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
    key: date.toISOString(),
    serial,
  }
}

function named(field: string | undefined, names: string, first: number): string {
  return names.split(' ').reduce((text, name, at) => text.replaceAll(name, String(at + first)), field ?? '')
}

function fieldSet(field: string | undefined, min: number, max: number): Set<number> {
  const found = new Set<number>()
  for (const part of (field ?? '').split(',')) {
    const [range = '', step = '1'] = part.split('/')
    const [from = '', to = from] = range === '*' ? [String(min), String(max)] : range.split('-')
    for (let value = Number(from); value <= Number(to); value += Number(step)) found.add(value)
  }
  return found
}
