import { describe, expect, it } from 'vitest'
import {
  asSentence,
  formatBytes,
  formatCount,
  formatDistance,
  formatDuration,
  formatMoment,
  formatTokens,
  formatUsd,
} from './format.ts'

describe('what pages show of numbers and times', () => {
  it('a number or time on a page counts one thing and several in their words', () => {
    expect([0, 1, 2].map((count) => formatCount(count, 'message'))).toEqual([
      '0 messages',
      '1 message',
      '2 messages',
    ])
  })

  it('a number or time on a page lets words stand by themselves as a sentence, which ends once', () => {
    expect(['no browser is set up', 'Look again.'].map(asSentence)).toEqual([
      'No browser is set up.',
      'Look again.',
    ])
  })

  it('a number or time on a page never shows what was spent as nothing, nor nothing as something', () => {
    expect([0, 0.000_03, 0.004_2, 1.5, 12_345.678].map(formatUsd)).toEqual([
      '$0',
      '<$0.0001',
      '$0.0042',
      '$1.50',
      '$12,345.68',
    ])
  })

  it('rounds tokens and durations into the next unit where they reach it', () => {
    expect([999, 1000, 9960, 999_400, 999_600, 12_000_000].map(formatTokens)).toEqual([
      '999',
      '1.0k',
      '10k',
      '999k',
      '1.0M',
      '12M',
    ])
    expect([999.7, 9960, 59_700, 119_600, 3_599_700, 5_400_000, 200_000_000].map(formatDuration)).toEqual([
      '1.0 s',
      '10 s',
      '1 min 0 s',
      '2 min 0 s',
      '1 h 0 min',
      '1 h 30 min',
      '2 d 7 h',
    ])
    expect([1023, 1024, 1024 * 1023.97, 3 * 1024 ** 3].map(formatBytes)).toEqual([
      '1023 B',
      '1.0 KB',
      '1.0 MB',
      '3.0 GB',
    ])
  })

  it('a number or time on a page says how long ago and how long until', () => {
    const now = Date.UTC(2026, 10, 27, 12)
    expect(
      [now, now - 59_700, now - 3_599_700, now + 90_000, now - 49 * 3_600_000].map((at) =>
        formatDistance(at, now),
      ),
    ).toEqual(['now', '1 min ago', '1 h ago', 'in 2 min', '2 d ago'])
  })

  it('a number or time on a page names the zone of a moment, and its year where that is another', () => {
    const now = Date.UTC(2026, 10, 27, 12)
    const zone = new Date(now).toLocaleTimeString('en-GB', { timeZoneName: 'short' }).split(' ').at(-1)
    expect(formatMoment(now, now)).toMatch(/^27 Nov, \d\d:00:00 /)
    expect(formatMoment(now, now).endsWith(` ${zone}`)).toBe(true)
    expect(formatMoment(now, Date.UTC(2028, 5, 1))).toContain('27 Nov 2026')
  })
})
