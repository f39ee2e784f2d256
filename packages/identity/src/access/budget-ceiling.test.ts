import { describe, expect, test } from 'vitest'
import { raisedPeriod } from './budget-ceiling.ts'

const usd = (dailyUsd: number | null, monthlyUsd: number | null) => ({ dailyUsd, monthlyUsd })

describe('a change of a budget', () => {
  test.each([
    ['the current values', usd(1, 10), usd(1, 10)],
    ['less', usd(1, 10), usd(0.5, 9.99)],
    ['nothing at all', usd(1, 10), usd(0, 0)],
    ['a limit where none was', usd(null, null), usd(1000, 1000)],
    ['no limit where none was', usd(null, null), usd(null, null)],
  ])('a change of a budget to %s lowers', (_to, before, after) => {
    expect(raisedPeriod(before, after)).toBe(null)
  })

  test.each([
    ['a cent more a day', usd(1, 10), usd(1.01, 10), 'daily_usd', '1.01 is more than the current USD 1;'],
    [
      'a cent more a month',
      usd(1, 10),
      usd(1, 10.01),
      'monthly_usd',
      '10.01 is more than the current USD 10;',
    ],
    ['no limit a day', usd(1, 10), usd(null, 10), 'daily_usd', 'no limit is more than the current USD 1;'],
    [
      'no limit a month',
      usd(null, 10),
      usd(5, null),
      'monthly_usd',
      'no limit is more than the current USD 10;',
    ],
    [
      'money where none might be spent',
      usd(0, 0),
      usd(0, 0.01),
      'monthly_usd',
      '0.01 is more than the current USD 0;',
    ],
    [
      'less a day for more a month',
      usd(1, 10),
      usd(0.5, 11),
      'monthly_usd',
      '11 is more than the current USD 10;',
    ],
  ])('a change to %s is a raise, and the refusal names the period', (...[, before, after, field, reason]) => {
    expect(raisedPeriod(before, after)).toEqual({ field, reason: expect.stringContaining(reason) })
  })
})
