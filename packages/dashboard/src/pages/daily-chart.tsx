import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  Legend,
  LineController,
  LineElement,
  LinearScale,
  PointElement,
  Tooltip,
} from 'chart.js'
import { useEffect, useRef } from 'react'
import { themeChanged } from '../design/theme.ts'
import { axisUsd } from '../data/axis-usd.ts'
import { formatTokens, formatUsd } from '../data/format.ts'

Chart.register(
  BarController,
  BarElement,
  LineController,
  LineElement,
  PointElement,
  CategoryScale,
  LinearScale,
  Tooltip,
  Legend,
)

/** Number of rows with their own color; all others share one. */
const coloredMax = 5

/** What the bars count. */
export type ChartUnit = 'dollars' | 'tokens'

const formats = {
  dollars: { value: formatUsd, axis: axisUsd, title: 'Dollars' },
  tokens: { value: formatTokens, axis: formatTokens, title: 'Tokens' },
} as const satisfies Record<ChartUnit, object>

interface Report {
  /** The labels of the bars. */
  readonly bars: readonly string[]
  readonly rows: readonly { readonly key: string; readonly daily_usd: readonly number[] }[]
}

/**
 * Stacked bars, one a day or hour, with a line at the daily limit of the fleet if the bars come near it. The table below has the
 * same numbers, for people who cannot see the chart.
 */
export function DailyChart({
  report,
  unit,
  limitUsd,
}: {
  readonly report: Report
  readonly unit: ChartUnit
  /** Null without a limit. */
  readonly limitUsd: number | null
}) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (!canvas.current) return
    let chart = drawChart(canvas.current, { report, unit, limitUsd })
    const redraw = () => {
      chart.destroy()
      if (canvas.current) chart = drawChart(canvas.current, { report, unit, limitUsd })
    }
    const scheme = window.matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    window.addEventListener(themeChanged, redraw)
    return () => {
      scheme.removeEventListener('change', redraw)
      window.removeEventListener(themeChanged, redraw)
      chart.destroy()
    }
  }, [report, unit, limitUsd])
  return (
    <div className="chart">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${formats[unit].title} over time; the table below has the sums`}
      />
    </div>
  )
}

function drawChart(
  canvas: HTMLCanvasElement,
  { report, unit, limitUsd }: { report: Report; unit: ChartUnit; limitUsd: number | null },
): Chart {
  const format = formats[unit]
  const color = colorReader()
  const colored = report.rows.slice(0, coloredMax)
  const rest = report.rows.slice(coloredMax)
  const days = report.bars
  const datasets = colored.map((row, index) => ({
    label: row.key === '' ? 'none' : row.key,
    data: [...row.daily_usd],
    backgroundColor: color(`--chart-${index + 1}`),
  }))
  if (rest.length > 0) {
    datasets.push({
      label: rest.length === 1 ? '1 other' : `${rest.length} others`,
      data: days.map((_, day) => rest.reduce((sum, row) => sum + (row.daily_usd[day] ?? 0), 0)),
      backgroundColor: color('--chart-6'),
    })
  }
  const limit = shownLimit(report, limitUsd)
  const line = {
    type: 'line' as const,
    label: 'daily limit of the fleet',
    data: days.map(() => limit),
    borderColor: color('--bad'),
    backgroundColor: color('--bad'),
    borderDash: [6, 4],
    borderWidth: 1.5,
    pointRadius: 0,
    stack: 'limit',
  }
  const ticks = { color: color('--muted'), maxRotation: 0, autoSkipPadding: 16 }
  return new Chart(canvas, {
    type: 'bar',
    data: { labels: [...days], datasets: limit === null ? datasets : [...datasets, line] },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      borderColor: color('--panel'),
      scales: {
        x: { stacked: true, ticks, grid: { display: false }, border: { color: color('--line') } },
        y: {
          stacked: true,
          ticks: {
            ...ticks,
            callback: (value, _index, all) =>
              format.axis(Number(value), (all[1]?.value ?? 0) - (all[0]?.value ?? 0) || Number(value)),
            maxTicksLimit: 5,
          },
          grid: { color: color('--line') },
          border: { display: false },
        },
      },
      plugins: {
        legend: {
          position: 'bottom',
          align: 'start',
          labels: { color: color('--text'), boxWidth: 10, boxHeight: 10 },
        },
        tooltip: {
          callbacks: {
            label: ({ dataset, parsed }) => `${dataset.label ?? ''}: ${format.value(parsed.y ?? 0)}`,
          },
        },
      },
    },
  })
}

/** The part of a limit from which on its line is drawn: a distant one would make the bars too small to read. */
const nearLimit = 0.25

/** Returns the limit if the highest day comes near it; null otherwise. Pure. */
export function shownLimit({ rows }: Report, limitUsd: number | null): number | null {
  const days = rows[0]?.daily_usd.length ?? 0
  const highest = Array.from({ length: days }, (_, day) =>
    rows.reduce((sum, row) => sum + (row.daily_usd[day] ?? 0), 0),
  ).reduce((most, usd) => Math.max(most, usd), 0)
  return limitUsd !== null && highest >= limitUsd * nearLimit ? limitUsd : null
}

/** Returns the colors of the present theme: code that draws on a canvas cannot use CSS variables. */
function colorReader(): (name: string) => string {
  return (name) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${name})`
    document.body.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
