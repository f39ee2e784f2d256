import { describe, expect, it } from 'vitest'
import {
  looksLikeWords,
  nearestScheduleWords,
  readScheduleWords,
  scheduleExamples,
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
    'every constructor',
    '',
    `every ${'monday and '.repeat(1000)}`,
  ])('%s is not understood', (words) => {
    expect(readScheduleWords(words)).toBeNull()
  })

  it('is one of the forms that are offered, and the nearest of them is named', () => {
    for (const example of scheduleExamples) expect(readScheduleWords(example), example).not.toBeNull()
    expect(nearestScheduleWords('every mornign at 8')).toBe('every morning at 9')
    expect(nearestScheduleWords('evry 20 minuts')).toBe('every 15 minutes')
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
