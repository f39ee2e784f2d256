import { BarController, BarElement, CategoryScale, Chart, Legend, LinearScale, Tooltip } from 'chart.js'
import { useEffect, useRef } from 'react'
import { themeChanged } from '../app/theme.ts'
import { axisUsd } from '../data/axis-usd.ts'
import { formatUsd } from '../data/format.ts'

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip, Legend)

/** Number of rows with their own color; all others share one. */
const coloredMax = 5

interface Report {
  readonly from: string
  readonly rows: readonly { readonly key: string; readonly daily_usd: readonly number[] }[]
}

/** Stacked bars, one a day. The table below has the same numbers, for people who cannot see the chart. */
export function DailyChart({ report }: { readonly report: Report }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (!canvas.current) return
    let chart = drawChart(canvas.current, report)
    const redraw = () => {
      chart.destroy()
      if (canvas.current) chart = drawChart(canvas.current, report)
    }
    const scheme = window.matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    window.addEventListener(themeChanged, redraw)
    return () => {
      scheme.removeEventListener('change', redraw)
      window.removeEventListener(themeChanged, redraw)
      chart.destroy()
    }
  }, [report])
  return (
    <div className="chart">
      <canvas ref={canvas} role="img" aria-label="Dollars a day; the table below has the sums" />
    </div>
  )
}

function drawChart(canvas: HTMLCanvasElement, report: Report): Chart {
  const color = colorReader()
  const colored = report.rows.slice(0, coloredMax)
  const rest = report.rows.slice(coloredMax)
  const days = daysFrom(report.from, report.rows[0]?.daily_usd.length ?? 0)
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
  const ticks = { color: color('--muted'), maxRotation: 0, autoSkipPadding: 16 }
  return new Chart(canvas, {
    type: 'bar',
    data: { labels: [...days], datasets },
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
              axisUsd(Number(value), (all[1]?.value ?? 0) - (all[0]?.value ?? 0) || Number(value)),
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
            label: ({ dataset, parsed }) => `${dataset.label ?? ''}: ${formatUsd(parsed.y ?? 0)}`,
          },
        },
      },
    },
  })
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

function daysFrom(from: string, count: number): readonly string[] {
  const first = Date.parse(`${from}T00:00:00Z`)
  return Array.from({ length: count }, (_, day) =>
    new Date(first + day * 86_400_000).toLocaleDateString('en-GB', {
      day: 'numeric',
      month: 'short',
      timeZone: 'UTC',
    }),
  )
}
