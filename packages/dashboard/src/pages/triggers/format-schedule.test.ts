import { expect, it } from 'vitest'
import { formatSchedule } from './format-schedule.ts'

it.each([
  ['every 15m', 'Every 15 minutes'],
  ['every 1h', 'Every hour'],
  ['EVERY 30 s', 'Every 30 seconds'],
  ['0 9 * * *', 'At 09:00'],
  ['0 9 * * MON-FRI', 'At 09:00, Monday through Friday'],
  ['*/10 8-18 * * *', 'Every 10 minutes, between 08:00 and 18:59'],
  ['0 0 1 1 *', 'At 00:00, on day 1 of the month, only in January'],
  ['0 12 * * 7', 'At 12:00, only on Sunday'],
  ['nothing of the kind', 'nothing of the kind'],
])('a schedule %s is said as %s', (schedule, words) => {
  expect(formatSchedule(schedule)).toBe(words)
})
