import { describe, expect, test } from 'vitest'
import { durationMs, retryAfterIn, retryAfterInWords, retryAfterMaxMs } from './retry-after.ts'

const date = 'Sat, 28 Nov 2026 07:00:00 GMT'
const headers = (fields: Readonly<Record<string, string>>) => retryAfterIn((name) => fields[name])

describe('how long a provider asks to wait', () => {
  test.each([
    ['seconds', { 'retry-after': '30' }, 30_000],
    ['seconds with a fraction', { 'retry-after': '0.5' }, 500],
    ['milliseconds, before seconds', { 'retry-after-ms': '120', 'retry-after': '1' }, 120],
    ['a date, from the date of the reply', { 'retry-after': 'Sat, 28 Nov 2026 07:00:45 GMT', date }, 45_000],
    ['a date that is over', { 'retry-after': 'Fri, 27 Nov 2026 07:00:45 GMT', date }, 0],
    ['a date far away', { 'retry-after': 'Sat, 28 Nov 2099 07:00:45 GMT', date }, retryAfterMaxMs],
    ['an absurd number', { 'retry-after': '999999999999' }, retryAfterMaxMs],
    ['a date without another to count from', { 'retry-after': date }, null],
    ['less than nothing', { 'retry-after': '-5' }, null],
    ['words', { 'retry-after': 'soon' }, null],
    ['a span', { 'retry-after': '1m30s' }, 90_000],
    [
      'words beside the reset of a limit that is used up',
      { 'retry-after': 'soon', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
      60_000,
    ],
    ['an exponent', { 'retry-after': '1e9' }, null],
    [
      'the reset of a limit that is used up',
      {
        'x-ratelimit-remaining-requests': '3',
        'x-ratelimit-reset-requests': '1h',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '1m3.5s',
      },
      63_500,
    ],
    [
      'the reset of a limit as a time since 1970 in milliseconds',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${Date.parse(date) + 5000}`, date },
      5000,
    ],
    [
      'the reset of a limit as a date',
      {
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': '2026-11-28T07:00:30Z',
        date,
      },
      30_000,
    ],
    [
      'the reset of a limit that is not used up',
      { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '60' },
      null,
    ],
    ['nothing', {}, null],
  ] as const)('%s', (_name, fields, expected) => {
    expect(headers(fields)).toBe(expected)
  })

  test.each([
    ['Please try again in 4.77s.', 4770],
    ['Please try again in 120ms. Visit', 120],
    ['Please retry in 36.429760048s.', 36_430],
    ['try again in 1m3.5s', 63_500],
    ['Please try again in 6m0s.', 360_000],
    ['try again in 2h5m', 7_500_000],
    ['please try again after 1 seconds', 1000],
    ['try again in 99999999h', retryAfterMaxMs],
    ['Please wait and try again later', null],
    ['try again in a moment', null],
  ] as const)('%s', (words, expected) => {
    expect(retryAfterInWords(words)).toBe(expected)
  })

  test.each([
    ['Please try again at 07:05Z.', 300_000],
    ['Try again at 2026-11-28T07:00:30Z', 30_000],
    ['Your limit resets at 2026-11-28 08:00:00 UTC', 3_600_000],
    ['You will regain access on 2026-11-28 at 07:10 UTC.', 600_000],
    ['try again at 9:00+01:00', 3_600_000],
    ['please try again after 06:00 GMT', 23 * 3_600_000],
    ['try again in 2m30s', 150_000],
    ['Rate limit resets in 45 seconds', 45_000],
    ['60 requests in 1 minute are allowed', null],
    ['try again at 25:99Z', null],
    ['try again at noon', null],
  ] as const)('%s is read relative to the date of the reply', (words, expected) => {
    expect(retryAfterInWords(words, Date.parse(date))).toBe(expected)
  })

  test('a time of day is no wait without the date of the reply', () => {
    expect(retryAfterInWords('try again at 07:05Z')).toBeNull()
  })

  test('a duration of Google is seconds and nothing else', () => {
    expect([durationMs('36s'), durationMs('0.5s'), durationMs('36'), durationMs(36)]).toEqual([
      36_000,
      500,
      null,
      null,
    ])
  })
})
