import { describe, expect, it } from 'vitest'
import { nextDue } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'
import { isTimezone, readSchedule } from './read-schedule.ts'

function refusal(text: string, timezone = 'UTC'): string {
  const reading = readSchedule(text, { timezone, anchor: 0 })
  return reading.ok ? 'taken' : `${reading.field}: ${reading.reason}`
}

function schedule(text: string, timezone = 'UTC', anchor = 0): Schedule {
  const reading = readSchedule(text, { timezone, anchor })
  if (!reading.ok) throw new Error(reading.reason)
  return reading.schedule
}

/** The first due time of a text in a time zone after a time. */
function firstDue(read: Schedule, from: string): string {
  return new Date(nextDue(read, Date.parse(from)) ?? Number.NaN).toISOString()
}

describe('the text of a schedule', () => {
  it('a schedule is read to its end, also after many spaces', () => {
    expect(refusal(`every 15m${' '.repeat(200)}and never on Sundays`)).toBe(
      'schedule: the schedule is longer than 200 characters',
    )
    expect(refusal(`0 9 * * MON${' '.repeat(190)}-FRI`)).toBe(
      'schedule: the schedule is longer than 200 characters',
    )
  })

  it('nicknames of other schedulers are rejected with the equivalent five fields', () => {
    expect(refusal('@daily')).toBe('schedule: "@daily" is not supported; write 0 0 * * *')
    expect(refusal('@Weekly')).toBe('schedule: "@Weekly" is not supported; write 0 0 * * SUN')
    expect(refusal('@reboot')).toMatch(/has 1 field/)
  })

  it('a schedule has at most two hundred characters', () => {
    const ofLength = (length: number) => `10${',0'.repeat((length - 10) / 2)} 0 * * *`
    expect(ofLength(200)).toHaveLength(200)
    expect(refusal(ofLength(200))).toBe('taken')
    expect(refusal(ofLength(202))).toBe('schedule: the schedule is longer than 200 characters')
  })

  it('a schedule may have spaces around and between its fields', () => {
    expect(schedule('  every   15m ')).toEqual({ kind: 'every', everyMs: 900_000, anchor: 0 })
    expect(schedule(' 0  9 *\t* mon ')).toEqual({
      kind: 'cron',
      expression: '0 9 * * MON',
      timezone: 'UTC',
    })
  })

  it('a schedule is an interval only if it begins with the word every', () => {
    for (const text of [
      'every',
      'every 5x',
      'every every 5m',
      'EVERY 1.5h',
      'every 15m 3s',
      'every 1234567890s',
    ]) {
      expect(refusal(text)).toMatch(
        / is not understood; write words such as "every .*an interval such as every 15m/,
      )
    }
    expect(refusal('every15 m')).toContain('is not understood')
    expect(refusal('0 9 every')).toMatch(/^schedule: "0 9 every" has 3 fields/)
    expect(refusal('0 0 every * *')).toMatch(
      /^schedule: day of month "every" is not a list of numbers, ranges/,
    )
  })

  it('a schedule may be written in words, and others are answered with the nearest form', () => {
    const expected = { kind: 'cron', expression: '0 9 * * *', timezone: 'UTC' }
    expect(schedule('every morning at 9')).toEqual(expected)
    expect(schedule(' Daily ')).toEqual(expected)
    expect(schedule('every 15 minutes')).toEqual({ kind: 'every', everyMs: 900_000, anchor: 0 })
    expect(refusal('every mornign at 9')).toContain('the nearest form is "every morning at 9"')
    expect(refusal('every so often')).toContain('is not understood; write words such as "every')
  })

  it.each(['tomorrow', 'in 10 minutes', 'every other tuesday'])('%s cannot be a schedule', (text) => {
    expect(refusal(text)).toContain(`schedule: "${text}" cannot be a schedule: it `)
    expect(refusal(text)).not.toContain('nearest')
  })

  it('an interval is from a second to 366 days', () => {
    expect(refusal('every 0d')).toBe('schedule: an interval of 0 is not allowed; write at least every 5s')
    expect(schedule('every 366d')).toMatchObject({ everyMs: 366 * 86_400_000 })
    expect(refusal('every 367d')).toBe('schedule: an interval is at most 366 days')
    expect(refusal('every 8785h')).toBe('schedule: an interval is at most 366 days')
  })

  it.each([
    ['x 0 1 1 1', 'minute "x" is not a list of numbers, ranges (1-5)'],
    ['0 x 1 1 1', 'hour "x" is not a list of numbers, ranges (1-5)'],
    ['0 0 x 1 1', 'day of month "x" is not a list of numbers, ranges (1-5)'],
    ['0 0 1 x 1', 'month "x" is not a list of numbers or names, ranges (1-5)'],
    ['0 0 1 1 x', 'day of week "x" is not a list of numbers or names, ranges (1-5)'],
    // Names belong to one field each.
    ['0 0 1 MON 1', 'month "MON" is not a list of numbers or names'],
    ['0 0 1 1 JAN', 'day of week "JAN" is not a list of numbers or names'],
    ['0 0 JAN 1 1', 'day of month "JAN" is not a list of numbers, ranges'],
    ['0 0 1 1 10', 'day of week "10" is not a list of numbers or names'],
    ['0 0 1 100 1', 'month "100" is not a list of numbers or names'],
    ['*/1000 0 1 1 1', 'minute "*/1000" is not a list of numbers, ranges'],
    ['0,,5 0 1 1 1', 'minute "0,,5" is not a list of numbers, ranges'],
    ['0, 0 1 1 1', 'minute "0," is not a list of numbers, ranges'],
  ])('the schedule %j is rejected with the name of the wrong field', (text, reason) => {
    expect(refusal(text).startsWith(`schedule: ${reason}`), refusal(text)).toBe(true)
  })

  it('a value outside of its field is rejected with that value', () => {
    expect(refusal('61 * * * *')).toBe('schedule: "61 * * * *": Invalid value for minute: 61')
  })

  it('a wrong number of fields is reported, and that seconds are not supported', () => {
    expect(refusal(' ')).toMatch(/^schedule: "" has 0 fields, but a cron expression has five: /)
    expect(refusal('1')).toMatch(/^schedule: "1" has 1 field, .* day-of-week; or write every 15m$/)
    expect(refusal('1 2 3 4 5 6 7')).toMatch(/ has 7 fields, .* day-of-week; or write every 15m$/)
    expect(refusal('0 1 2 3 4 5')).toMatch(
      / has 6 fields, .*; seconds are not supported; or write every 15m$/,
    )
  })
})

describe('a time zone', () => {
  it.each(['UTC', 'Europe/Berlin', 'America/Port-au-Prince', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires'])(
    'the time zone %s is known',
    (name) => {
      expect([isTimezone(name), isTimezone(name)]).toEqual([true, true])
    },
  )

  it.each(['', 'Mars/Olympus', '+02:00', '-0530', 'Europe/Berlin ', 'Europe/Berlin\n', 'a'.repeat(500)])(
    'the time zone %j is rejected',
    (name) => {
      expect([isTimezone(name), isTimezone(name)]).toEqual([false, false])
    },
  )

  it('an unknown time zone is reported with at most sixty characters', () => {
    expect(refusal('every 5m', 'a'.repeat(5000))).toBe(
      `timezone: there is no time zone ${'a'.repeat(60)}; write a name such as Europe/Berlin or UTC`,
    )
  })
})

describe('the first due time', () => {
  it.each([
    // The same offset from the day before until then.
    ['0 12 * * *', 'Europe/Berlin', '2026-07-01T00:00:00Z', '2026-07-01T10:00:00.000Z'],
    ['0 12 * * *', 'Asia/Kathmandu', '2026-07-01T00:00:00Z', '2026-07-01T06:15:00.000Z'],
    // The clocks change before it, within a week and after one.
    ['0 12 * * MON', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-30T10:00:00.000Z'],
    ['0 12 1 * *', 'Europe/Berlin', '2026-03-02T00:00:00Z', '2026-04-01T10:00:00.000Z'],
    ['0 12 1 7 *', 'Europe/Berlin', '2026-01-01T00:00:00Z', '2026-07-01T10:00:00.000Z'],
    // The clocks changed twice, so the offset is the same, and one hour occurred twice.
    ['30 1 1 12 *', 'Europe/London', '2026-01-01T00:00:00Z', '2026-12-01T01:30:00.000Z'],
    // Clocks by local solar time, with an offset of no whole minute.
    ['0 12 * * *', 'Europe/Amsterdam', '1880-01-01T00:00:00Z', '1880-01-01T11:42:30.000Z'],
  ])('the first due time of %s in %s after %s matches the wall clock there', (...given) => {
    const [text, timezone, from, due] = given
    expect(firstDue(schedule(text, timezone), from)).toBe(due)
  })

  it('the first due time is after the given time, even if that is a due time', () => {
    const noon = schedule('0 12 * * *')
    expect(firstDue(noon, '2026-07-01T12:00:00Z')).toBe('2026-07-02T12:00:00.000Z')
    expect(firstDue(noon, '2026-07-01T11:59:59Z')).toBe('2026-07-01T12:00:00.000Z')
  })

  it('the first due time is correct for one expression in many zones, and for more expressions than the cache holds', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu']
    const from = '2026-07-01T00:00:00Z'
    const at = (zone: string) => firstDue(schedule('0 12 * * *', zone), from)
    const twice = [...zones, ...zones].map(at)
    expect(twice.slice(0, 4)).toEqual([
      '2026-07-01T12:00:00.000Z',
      '2026-07-01T10:00:00.000Z',
      '2026-07-01T16:00:00.000Z',
      '2026-07-01T06:15:00.000Z',
    ])
    expect(twice.slice(4)).toEqual(twice.slice(0, 4))
    const minutes = Array.from({ length: 200 }, (_, at) => `${at % 60} ${Math.floor(at / 60)} * * *`)
    const dues = () => minutes.map((text) => firstDue(schedule(text), from))
    const first = dues()
    expect(new Set(first).size).toBe(200)
    expect(dues()).toEqual(first)
  })
})
