const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface Row {
  readonly key: string
  readonly usd: number
  readonly daily_usd: readonly number[]
}

/** Returns the labels of the days of a report. Pure. */
export function daysFrom(from: string, rows: readonly Pick<Row, 'daily_usd'>[]): readonly string[] {
  const first = Date.parse(`${from}T00:00:00Z`)
  return Array.from({ length: rows[0]?.daily_usd.length ?? 0 }, (_, day) => dayLabel(first + day * dayMs))
}

/** Returns one series with a bar for each UTC hour of the days, also for hours without calls. Pure. */
export function hourlySeries({
  from,
  to,
  rows,
}: {
  readonly from: string
  readonly to: string
  readonly rows: readonly Pick<Row, 'key' | 'usd'>[]
}) {
  const first = Date.parse(`${from}T00:00:00Z`)
  const hours = (Date.parse(`${to}T00:00:00Z`) - first) / hourMs + 24
  const spent = new Map(rows.map(({ key, usd }) => [key, usd]))
  const at = Array.from({ length: hours }, (_, hour) => first + hour * hourMs)
  const hourly = at.map((one) => spent.get(new Date(one).toISOString().slice(0, 13)) ?? 0)
  return { from, rows: [{ key: 'all', daily_usd: hourly }], bars: at.map(hourLabel) }
}

/** Returns a report by day or hour with tokens in place of dollars, as one series. Pure. */
export function tokenSeries({
  by,
  from,
  to,
  rows,
}: {
  readonly by: string
  readonly from: string
  readonly to: string
  readonly rows: readonly {
    readonly key: string
    readonly prompt_tokens: number
    readonly completion_tokens: number
  }[]
}) {
  const perDay = by === 'hour' ? 24 : 1
  const first = Date.parse(`${from}T00:00:00Z`)
  const bars = ((Date.parse(`${to}T00:00:00Z`) - first) / dayMs + 1) * perDay
  const used = new Map(rows.map((row) => [row.key, row.prompt_tokens + row.completion_tokens]))
  const at = Array.from({ length: bars }, (_, bar) => first + (bar * dayMs) / perDay)
  const keyChars = by === 'hour' ? 13 : 10
  return {
    rows: [
      {
        key: 'read and written',
        daily_usd: at.map((one) => used.get(new Date(one).toISOString().slice(0, keyChars)) ?? 0),
      },
    ],
    bars: at.map(by === 'hour' ? hourLabel : dayLabel),
  }
}

/** Returns the words for the key of a row. Pure. */
export function costKeyWords(by: string, key: string): string {
  if (by === 'hour') return hourLabel(Date.parse(`${key}:00:00Z`))
  if (key !== '') return key
  return by === 'kind' ? 'outside of runs' : 'none'
}

function dayLabel(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function hourLabel(at: number): string {
  return `${dayLabel(at)}, ${new Date(at).toISOString().slice(11, 13)}:00`
}
