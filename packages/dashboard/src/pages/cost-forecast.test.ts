import { describe, expect, it } from 'vitest'
import { forecastMonth } from './cost-forecast.ts'

const at = (text: string) => Date.parse(text)

describe('what the month will cost', () => {
  it('the forecast of a month is what it has cost, and the rate of the last full days for those that are left', () => {
    const days = Array.from({ length: 20 }, (_, index) => ({
      key: `2026-11-${String(index + 1).padStart(2, '0')}`,
      usd: index < 12 ? 9 : 2,
    }))
    // Twelve days of 9 dollars and eight of 2, the last of which is today; ten days are left.
    expect(forecastMonth(days, at('2026-11-20T10:00:00Z'))).toEqual({
      monthUsd: 12 * 9 + 8 * 2,
      dayUsd: 2,
      forecastUsd: 12 * 9 + 8 * 2 + 10 * 2,
    })
  })

  it('the forecast of a month counts of today what is left of a day like the last ones, and of last month nothing but its rate', () => {
    const days = [
      { key: '2026-10-30', usd: 4 },
      { key: '2026-10-31', usd: 8 },
      { key: '2026-11-01', usd: 1 },
    ]
    expect(forecastMonth(days, at('2026-11-01T12:00:00Z'))).toEqual({
      monthUsd: 1,
      dayUsd: 6,
      forecastUsd: 1 + 5 + 29 * 6,
    })
  })

  it('the forecast of a month takes today for the rate where there was no day before, and is nothing where nothing was spent', () => {
    const now = at('2026-11-29T23:00:00Z')
    expect(forecastMonth([{ key: '2026-11-29', usd: 3 }], now).forecastUsd).toBe(6)
    expect(forecastMonth([], now)).toEqual({ monthUsd: 0, dayUsd: 0, forecastUsd: 0 })
  })
})
