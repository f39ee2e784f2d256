import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { patient } from '../../../../../tests/support/patience.ts'
import { oracleDueTimes } from '../../../../testing/src/cron-oracle.ts'
import { clockChanges, minuteOracle } from '../../../../testing/src/minute-oracle.ts'
import { nextDue } from './cron-schedule.ts'
import { previewSchedule } from './preview-schedule.ts'
import { readSchedule } from './read-schedule.ts'

const hour = 3_600_000
const day = 24 * hour
const [from, until] = [Date.UTC(2026, 0, 1), Date.UTC(2036, 0, 1)]
const soak = process.env['FLOTILLA_SOAK'] === '1'

/** Fixed times and wildcards at the hours of clock changes, on every kind of day. */
const expressions = [
  '59 23 * * *',
  '0 0 * * *',
  '30 2 * * *',
  '15 0-3 * * *',
  '0,30 23,0,1 28,29 3 *',
  '0 1 * * 0',
  '0 3 1-7 * 6',
  '*/20 * * * *',
  '*/30 2 * * *',
  '7 * * * *',
  '5/25 1,2 * * *',
]

function dueTimes(
  text: string,
  { timezone, after, end }: { readonly timezone: string; readonly after: number; readonly end: number },
): string[] {
  const read = readSchedule(text, { timezone, anchor: 0 })
  if (!read.ok) throw new Error(read.reason)
  const found: string[] = []
  for (let at = nextDue(read.schedule, after); at !== null && at <= end; at = nextDue(read.schedule, at))
    found.push(shown(at))
  return found
}

const shown = (at: number) => new Date(at).toISOString().slice(0, 16)

/** The expressions whose due times around a change differ from the wall clock of the zone. */
function differencesAround(timezone: string, change: number): object[] {
  const [after, end] = [change - 36 * hour, change + 36 * hour]
  const dueTimesOf = minuteOracle(timezone, { after, until: end })
  return expressions.flatMap((text) => {
    const found = dueTimes(text, { timezone, after, end })
    const wanted = dueTimesOf(text).map(shown)
    return found.join() === wanted.join() ? [] : [{ timezone, text, change: shown(change), found, wanted }]
  })
}

describe('due times around a clock change', () => {
  test.each([
    // 23:00 becomes 24:00, so the gap ends on the next day.
    ['America/Nuuk', '59 23 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:59']],
    ['America/Nuuk', '59 23 * * *', '2027-03-27T12:00', ['2027-03-28T01:00', '2027-03-29T00:59']],
    [
      'America/Nuuk',
      '0 0 * * *',
      '2026-03-28T00:00',
      ['2026-03-28T02:00', '2026-03-29T01:00', '2026-03-30T01:00'],
    ],
    // 00:00 becomes 01:00.
    ['Asia/Beirut', '0 0 * * *', '2026-03-28T00:00', ['2026-03-28T22:00', '2026-03-29T21:00']],
    ['Africa/Cairo', '30 0 * * *', '2026-04-23T00:00', ['2026-04-23T22:00', '2026-04-24T21:30']],
    [
      'America/Santiago',
      '0 0 * * *',
      '2026-09-05T00:00',
      ['2026-09-05T04:00', '2026-09-06T04:00', '2026-09-07T03:00'],
    ],
    // 30 minutes.
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T00:00', ['2026-10-03T15:30', '2026-10-04T15:15']],
    [
      'Australia/Lord_Howe',
      '*/15 1 * * *',
      '2026-04-04T12:00',
      [
        '2026-04-04T14:00',
        '2026-04-04T14:15',
        '2026-04-04T14:30',
        '2026-04-04T14:45',
        '2026-04-04T15:00',
        '2026-04-04T15:15',
        '2026-04-05T14:30',
        '2026-04-05T14:45',
        '2026-04-05T15:00',
        '2026-04-05T15:15',
      ],
    ],
  ] as const)('in %s of %s from %s on no fixed time is lost or repeated', (...given) => {
    const [timezone, text, start, wanted] = given
    const after = Date.parse(`${start}Z`)
    expect(dueTimes(text, { timezone, after, end: after + 72 * hour }).slice(0, wanted.length)).toEqual(
      wanted,
    )
  })

  test('due times around a clock change match the preview of a job', () => {
    const now = Date.parse('2026-03-28T12:00:00Z')
    const { next } = previewSchedule(
      { schedule: '59 23 * * *', timezone: 'America/Nuuk' },
      { now, readCondition: () => () => true },
    )
    expect(next.slice(0, 2).map(shown)).toEqual(['2026-03-29T01:00', '2026-03-30T00:59'])
  })

  test(
    'due times around a clock change match a minute-by-minute wall clock in every zone of the database',
    () => {
      const zones = Intl.supportedValuesOf('timeZone')
      if (soak) {
        for (const zone of zones) {
          const changes = clockChanges(zone, { from, until })
          expect(changes.flatMap((change) => differencesAround(zone, change))).toEqual([])
        }
        return
      }
      const place = fc.tuple(fc.constantFrom('America/Nuuk', ...zones), fc.nat(60))
      fc.assert(
        fc.property(place, ([zone, nth]) => {
          const changes = clockChanges(zone, { from, until })
          // A zone without changes is compared around the end of a year.
          const change = changes[nth % changes.length] ?? Date.UTC(2026 + (nth % 10), 11, 31)
          expect(differencesAround(zone, change)).toEqual([])
        }),
        { numRuns: 25, examples: [[['America/Nuuk', 0]], [['America/Nuuk', 2]]] },
      )
    },
    patient(soak ? 3_600_000 : 60_000),
  )

  test(
    'due times of ten years between clock changes match cron-parser in every zone of the database',
    () => {
      const zones = Intl.supportedValuesOf('timeZone')
      const differencesIn = (zone: string, end: number): object[] => {
        const changes = clockChanges(zone, { from: from - day, until: end + day })
        // Around a change the two read fixed times differently; the test before compares those days by the minute.
        const isBetween = (at: number) => changes.every((change) => Math.abs(change - at) > 36 * hour)
        const text = '59 23 * * *'
        const found = dueTimes(text, { timezone: zone, after: from, end })
        const wanted = oracleDueTimes(text, { timezone: zone, after: from, until: end }).map(shown)
        const compared = (times: readonly string[]) =>
          times.filter((time) => isBetween(Date.parse(`${time}Z`))).join()
        return compared(found) === compared(wanted) ? [] : [{ zone, found: found.length }]
      }
      if (soak) {
        expect(zones.flatMap((zone) => differencesIn(zone, until))).toEqual([])
        return
      }
      fc.assert(
        fc.property(fc.constantFrom(...zones), (zone) => {
          expect(differencesIn(zone, from + 366 * day)).toEqual([])
        }),
        { numRuns: 5, examples: [['America/Nuuk']] },
      )
    },
    patient(soak ? 3_600_000 : 60_000),
  )
})
