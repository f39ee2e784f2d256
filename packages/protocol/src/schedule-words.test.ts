import { describe, expect, it } from 'vitest'
import {
  looksLikeWords,
  nearestScheduleWords,
  readScheduleWords,
  scheduleExamples,
  whyNoSchedule,
} from './schedule-words.ts'

describe('a schedule in words', () => {
  it.each([
    ['every morning at 9', '0 9 * * *'],
    ['Every  Morning', '0 9 * * *'],
    ['every evening at 6', '0 18 * * *'],
    ['every day at 6 pm', '0 18 * * *'],
    ['every day at 12 am', '0 0 * * *'],
    ['daily', '0 9 * * *'],
    ['every day', '0 9 * * *'],
    ['every day at 14:30', '30 14 * * *'],
    ['every weekday at 8:30', '30 8 * * 1-5'],
    ['every weekend at 10', '0 10 * * 0,6'],
    ['every monday at 9', '0 9 * * 1'],
    ['on mondays and thursdays at 17:00', '0 17 * * 1,4'],
    ['every monday morning', '0 9 * * 1'],
    ['every day at 7 in the evening', '0 19 * * *'],
    ['every friday in the afternoon', '0 15 * * 5'],
    ['every night at 2', '0 2 * * *'],
    ['every night at 11', '0 23 * * *'],
    ['weekdays at 8:30', '30 8 * * 1-5'],
    ['Weekends at 10', '0 10 * * 0,6'],
    ['mondays at 9', '0 9 * * 1'],
    ['mondays', '0 9 * * 1'],
    ['mondays and thursdays at 17:00', '0 17 * * 1,4'],
    ['weekday mornings at 8', '0 8 * * 1-5'],
    ['weekdays in the evening', '0 18 * * 1-5'],
    ['every monday morning at 8', '0 8 * * 1'],
    ['daily at 9', '0 9 * * *'],
    ['daily at 6 pm', '0 18 * * *'],
    ['weekly', '0 9 * * 1'],
    ['hourly', '0 * * * *'],
    ['every 15 minutes', 'every 15m'],
    ['every minute', 'every 1m'],
    ['every 2 days', 'every 2d'],
    ['on the 1st of every month at 9', '0 9 1 * *'],
    ['monthly', '0 9 1 * *'],
  ])('%s is %s', (words, schedule) => {
    expect(readScheduleWords(words)).toBe(schedule)
  })

  it.each([
    'every so often',
    'every day at 25',
    'every day at 9:75',
    'every day at 13 pm',
    'on the 32nd of every month',
    'every 0 minutes',
    '0 9 * * *',
    'every 15m',
    'tomorrow',
    'monday at 9',
    'dailyness at 9',
    'in 10 minutes',
    'every other tuesday',
    'every constructor',
    '',
    `every ${'monday and '.repeat(1000)}`,
  ])('%s is not understood', (words) => {
    expect(readScheduleWords(words)).toBeNull()
  })

  it('is one of the forms that are offered, and the nearest of them is named', () => {
    for (const example of scheduleExamples) expect(readScheduleWords(example), example).not.toBeNull()
    for (const [typed, nearest] of [
      ['every mornign at 8', 'every morning at 8'],
      ['evry 20 minuts', 'every 20 minutes'],
      ['every tusday at 9', 'every tuesday at 9'],
      ['monday at 9', 'every monday at 9'],
      ['every hour at noon', 'every hour'],
    ] as const)
      expect(nearestScheduleWords(typed), typed).toBe(nearest)
  })

  it.each(['every so often', 'yearly', 'when the mail comes', ''])('nothing is near to %j', (text) => {
    expect([nearestScheduleWords(text), whyNoSchedule(text)]).toEqual([null, null])
  })

  it.each([
    ['every other tuesday', 'would leave out some'],
    ['every second week at 9', 'would leave out some'],
    ['every 2 weeks', 'would leave out some'],
    ['every other hour', 'every 2h'],
    ['in 10 minutes', 'a single time'],
    ['in an hour', 'a single time'],
    ['tomorrow at 9', 'a single time'],
  ])('%s is no schedule, and no form is offered for it', (text, reason) => {
    expect(whyNoSchedule(text)).toContain(reason)
    expect(nearestScheduleWords(text)).toBeNull()
  })

  it('is told from fields of cron and from intervals', () => {
    expect(['every morning', 'tomorrow at 9', 'every monday and thursday at'].map(looksLikeWords)).toEqual([
      true,
      true,
      true,
    ])
    expect(['0 9 * * MON-FRI', 'every 15m', '*/5 * * * *', '0 9', ''].map(looksLikeWords)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ])
  })
})
