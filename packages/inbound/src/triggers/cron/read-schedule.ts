import {
  looksLikeWords,
  nearestScheduleWords,
  readScheduleWords,
  scheduleExamples,
  whyNoSchedule,
} from '@flotilla/protocol/schedule-words'
import { cronOf } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'
import { zoneOffsetMs } from './zone-offset.ts'
import { cronTickMs } from './cron-tick.ts'

type ScheduleReading =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly field: 'schedule' | 'timezone'; readonly reason: string }

/** The longest interval of a cron job, in milliseconds: 366 days. */
const everyMaxMs = 366 * 24 * 3600 * 1000
const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** The maximum length of a schedule, in characters. */
const textMaxChars = 200

const fieldNames = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const
/** The maximum value of each field. Sunday is 0 and 7. */
const lastValues = [59, 23, 31, 12, 7] as const
const months = 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC'
const days = 'SUN|MON|TUE|WED|THU|FRI|SAT'
/** The accepted form of each field, without the additions of the library (`L`, `W`, `#`, `?`, `@daily`, `+`). */
const valueOf = ['\\d{1,2}', '\\d{1,2}', '\\d{1,2}', `\\d{1,2}|${months}`, `\\d|${days}`] as const
const grammars = valueOf.map((value) => {
  const part = `(?:\\*|(?:${value})(?:-(?:${value}))?)(?:/\\d{1,3})?`
  return new RegExp(`^${part}(?:,${part})*$`, 'i')
})

/** Returns the schedule as `every 15m` or five fields; what is not written in words is returned as it is. Pure. */
export function withoutWords(text: string): string {
  return readScheduleWords(text) ?? text.trim()
}

/** Parses `every 15m`, `0 9 * * MON-FRI` or `every morning at 9`. Otherwise returns the invalid field and the reason. Pure. */
export function readSchedule(
  text: string,
  { timezone, anchor }: { readonly timezone: string; readonly anchor: number },
): ScheduleReading {
  if (!isTimezone(timezone)) {
    return {
      ok: false,
      field: 'timezone',
      reason: `there is no time zone ${timezone.slice(0, 60)}; write a name such as Europe/Berlin or UTC`,
    }
  }
  const wrong = (reason: string): ScheduleReading => ({ ok: false, field: 'schedule', reason })
  if (text.length > textMaxChars) return wrong(`the schedule is longer than ${textMaxChars} characters`)
  const trimmed = withoutWords(text)
  if (/^every\b/i.test(trimmed)) return readEvery(trimmed, anchor, wrong)
  return readExpression(trimmed, timezone, wrong)
}

function readEvery(
  text: string,
  anchor: number,
  wrong: (reason: string) => ScheduleReading,
): ScheduleReading {
  const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(text) ?? []
  const wishedMs = Number(count) * (unitMs[unit.toLowerCase()] ?? 0)
  if (count === '') return wrong(unknownWords(text))
  if (wishedMs === 0) return wrong('an interval of 0 is not allowed; write at least every 5s')
  if (wishedMs > everyMaxMs) return wrong('an interval is at most 366 days')
  return { ok: true, schedule: { kind: 'every', everyMs: Math.max(cronTickMs, wishedMs), anchor } }
}

function readExpression(
  text: string,
  timezone: string,
  wrong: (reason: string) => ScheduleReading,
): ScheduleReading {
  const fields = text.split(/\s+/)
  const written = nicknames[text.toLowerCase()]
  if (written !== undefined) return wrong(`"${text}" is not supported; write ${written}`)
  if (fields.length !== 5 && looksLikeWords(text)) return wrong(unknownWords(text))
  if (fields.length !== 5) {
    const seconds = fields.length === 6 ? '; seconds are not supported' : ''
    return wrong(
      `"${text}" has ${formatFields(text === '' ? 0 : fields.length)}, but a cron expression has five: minute hour day-of-month month day-of-week${seconds}; or write every 15m`,
    )
  }
  const bad = fields.findIndex((field, at) => grammars[at]?.test(field) !== true)
  if (bad >= 0) {
    return wrong(
      `${fieldNames[bad] ?? 'field'} "${fields[bad] ?? ''}" is not a list of numbers${bad > 2 ? ' or names' : ''}, ranges (1-5), * and steps (*/10, 1-30/5, 10/20)`,
    )
  }
  const expression = fields.map(withEnds).join(' ').toUpperCase()
  const schedule: Schedule = { kind: 'cron', expression, timezone }
  if (readBefore.has(expression)) return { ok: true, schedule }
  try {
    if (cronOf(expression).nextRun(new Date(someMonday)) === null)
      return wrong(`"${text}" names a day that never comes`)
    if (readBefore.size >= readBeforeMax) readBefore.clear()
    readBefore.add(expression)
    return { ok: true, schedule }
  } catch (error) {
    return wrong(`"${text}": ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'no'}`)
  }
}

function unknownWords(text: string): string {
  const why = whyNoSchedule(text)
  if (why !== null) return `"${text}" cannot be a schedule: ${why}`
  const near = nearestScheduleWords(text)
  const hint =
    near === null ? `write words such as "${scheduleExamples[0]}"` : `the nearest form is "${near}"`
  return `"${text}" is not understood; ${hint}; or write an interval such as every 15m, or five fields such as 0 9 * * MON-FRI`
}

/** The nicknames of schedules in other schedulers, and their five fields. */
const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * SUN',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Returns the field with ends: `10/20` is `10-59/20` in every cron, and the library needs the end. Pure. */
function withEnds(field: string, at: number): string {
  return field.replaceAll(/(?<=^|,)(\w+)\//g, `$1-${lastValues[at] ?? ''}/`)
}

/**
 * How many valid expressions are remembered, because every edit reads all jobs. The cache belongs to a pure function.
 */
const readBeforeMax = 10_000
const readBefore = new Set<string>()

/** Where validation searches from; any time works: if a pattern is ever due, it is due within the years searched. */
const someMonday = Date.UTC(2024, 0, 1)

/** How many time zones are remembered as valid. The cache belongs to a pure function. */
const knownZonesMax = 1000
const knownZones = new Set<string>()

/** True for a time zone of this machine's database. Offsets such as +02:00 are not accepted. Pure. */
export function isTimezone(name: string): boolean {
  if (knownZones.has(name)) return true
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false
  try {
    zoneOffsetMs(name, 0)
    if (knownZones.size >= knownZonesMax) knownZones.clear()
    knownZones.add(name)
    return true
  } catch {
    return false
  }
}

function formatFields(count: number): string {
  return count === 1 ? '1 field' : `${count} fields`
}
