import { expect, it } from 'vitest'
import { costKeyWords, daysFrom, hourlySeries, tokenSeries } from './cost-series.ts'

it('a series by hour has a bar for each hour of its days, also for those without calls', () => {
  const rows = [
    { key: '2026-11-28T23', usd: 2 },
    { key: '2026-11-29T01', usd: 3 },
  ]
  const { rows: series, bars } = hourlySeries({ from: '2026-11-28', to: '2026-11-29', rows })
  expect(bars).toHaveLength(48)
  expect([bars[0], bars[23], bars[25]]).toEqual(['28 Nov, 00:00', '28 Nov, 23:00', '29 Nov, 01:00'])
  expect(series[0]?.daily_usd.flatMap((usd, hour) => (usd === 0 ? [] : [[hour, usd]]))).toEqual([
    [23, 2],
    [25, 3],
  ])
})

it('the days and keys of a report have words', () => {
  expect(daysFrom('2026-11-28', [{ daily_usd: [1, 2] }])).toEqual(['28 Nov', '29 Nov'])
  expect(costKeyWords('hour', '2026-11-28T07')).toBe('28 Nov, 07:00')
  expect([costKeyWords('kind', ''), costKeyWords('project', ''), costKeyWords('kind', 'task')]).toEqual([
    'outside of runs',
    'none',
    'task',
  ])
})

it('tokens are one series with a bar for each day or hour, also for those without calls', () => {
  const row = (key: string) => ({ key, prompt_tokens: 100, completion_tokens: 20 })
  const days = tokenSeries({ by: 'day', from: '2026-11-28', to: '2026-11-30', rows: [row('2026-11-29')] })
  expect(days).toEqual({
    rows: [{ key: 'read and written', daily_usd: [0, 120, 0] }],
    bars: ['28 Nov', '29 Nov', '30 Nov'],
  })
  const hours = tokenSeries({
    by: 'hour',
    from: '2026-11-30',
    to: '2026-11-30',
    rows: [row('2026-11-30T05')],
  })
  expect(hours.rows[0]?.daily_usd.indexOf(120)).toBe(5)
  expect(hours.bars).toHaveLength(24)
})
