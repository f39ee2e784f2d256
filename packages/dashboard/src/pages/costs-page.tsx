import { upTo } from '@flotilla/protocol/up-to'
import { Suspense, lazy, useMemo } from 'react'
import { cacheHitRate, hasCacheUse, isUnpriced } from '@flotilla/protocol/money-api'
import type { BudgetView } from '@flotilla/protocol/money-api'
import type { Reply } from '@flotilla/client/mesh-call'
import { formatCount, formatShare, formatTokens, formatUsd } from '../data/format.ts'
import { useChoice } from '../data/use-choice.ts'
import { saveFile } from '../data/save-file.ts'
import { useMesh, useRefusal } from '../data/use-mesh.ts'
import { useNow } from '../data/use-now.ts'
import { Badge, Card, Empty, Failed, Loading, PageHead, Scrolls } from '../design/parts.tsx'
import { BudgetList } from './budget-list.tsx'
import { BudgetPeriod } from './budget-period.tsx'
import { budgetTitle } from './sort-budgets.ts'
import { forecastMonth } from './cost-forecast.ts'
import type { ChartUnit } from './daily-chart.tsx'
import { costKeyWords, daysFrom, hourlySeries, tokenSeries } from './cost-series.ts'
import { Limits } from './settings/limits.tsx'
import './settings/settings.css'

const DailyChart = lazy(async () => ({ default: (await import('./daily-chart.tsx')).DailyChart }))

const groups = ['agent', 'model', 'project', 'kind', 'day', 'hour'] as const
const groupTitles: Readonly<Record<(typeof groups)[number], string>> = {
  agent: 'Agent',
  model: 'Model',
  project: 'Project',
  kind: 'Kind of run',
  day: 'Day',
  hour: 'Hour',
}
const ranges = [1, 7, 30, 90] as const
const usualDays = 30
/** Hours are shown for this many days at most: more bars would be too narrow to see. */
const hourDaysMax = 7

export function CostsPage() {
  const [choice, choose] = useChoice(['by', 'days', 'show'])
  const by = groups.find((one) => one === choice.by) ?? groups[0]
  const chosenDays = ranges.find((one) => String(one) === choice.days) ?? usualDays
  const isHourly = by === 'hour'
  const days = isHourly ? Math.min(chosenDays, hourDaysMax) : chosenDays
  const report = useMesh('costReport', { query: { by, days } })
  const budgets = useMesh('budgets')
  const mayChange = useRefusal({ call: 'budgetSet' }) === null
  const fleet = budgets.data?.budgets.find(({ scope }) => scope === 'fleet')
  const { data } = report
  const isFree = data !== undefined && data.total.calls > 0 && data.total.usd === 0
  const unit: ChartUnit = isFree || choice.show === 'tokens' ? 'tokens' : 'dollars'
  return (
    <div className="page">
      <PageHead title="Costs">
        <button
          type="button"
          className="button"
          disabled={data === undefined}
          onClick={() => saveFile(`costs-by-${by}.json`, `${JSON.stringify(data, null, 2)}\n`)}
        >
          Export JSON
        </button>
        <select
          className="input"
          aria-label="Group by"
          value={by}
          onChange={(event) => choose('by', event.target.value === groups[0] ? '' : event.target.value)}
        >
          {groups.map((one) => (
            <option key={one} value={one}>
              by {groupTitles[one].toLowerCase()}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Days"
          value={days}
          onChange={(event) =>
            choose('days', event.target.value === String(usualDays) ? '' : event.target.value)
          }
        >
          {ranges
            .filter((one) => !isHourly || one <= hourDaysMax)
            .map((one) => (
              <option key={one} value={one}>
                {formatCount(one, 'day')}
              </option>
            ))}
        </select>
      </PageHead>
      {report.error && <Failed error={report.error} retry={report.refetch} />}
      {report.isPending && <Loading />}
      {data && (
        <>
          <div className="figures">
            <Figure label={`Spent in ${formatCount(days, 'day')}`} value={spentWords(data.total)} />
            <Figure label="Model calls" value={formatTokens(data.total.calls)} />
            <Figure label="Tokens read" value={formatTokens(data.total.prompt_tokens)} />
            <Figure label="Tokens written" value={writtenWords(data.total)} />
            {data.total.reported_tokens > 0 && (
              <Figure
                label="Tokens reported by the harness, unpriced"
                value={formatTokens(data.total.reported_tokens)}
              />
            )}
            {hasCacheUse(data.total) && <SavedByCache total={data.total} isFree={isFree} />}
            {!isFree && <Forecast fleet={fleet} />}
          </div>
          <Card
            title={chartTitle(by, unit)}
            more={
              <span className="row">
                {!isFree && data.total.calls > 0 && (
                  <select
                    className="input"
                    aria-label="Show"
                    value={unit}
                    onChange={(event) => choose('show', event.target.value === 'tokens' ? 'tokens' : '')}
                  >
                    <option value="dollars">Dollars</option>
                    <option value="tokens">Tokens</option>
                  </select>
                )}
                <span className="small muted">{isHourly ? 'UTC hours' : 'UTC days'}</span>
              </span>
            }
          >
            <div className="body">
              {isFree && !isUnpriced(data.total) && (
                <p className="small muted">
                  The models that were called have no price. To set one: <code>flotilla models price</code>
                </p>
              )}
              {data.total.calls === 0 ? (
                <Empty title="No model was called yet">
                  Days appear here once agents have called a model.
                </Empty>
              ) : unit === 'tokens' ? (
                <TokenChart by={isHourly ? 'hour' : 'day'} days={days} />
              ) : (
                <Suspense fallback={<Loading />}>
                  <DailyChart
                    report={chartReport(data)}
                    unit="dollars"
                    limitUsd={isHourly ? null : (fleet?.daily.limit_usd ?? null)}
                  />
                </Suspense>
              )}
            </div>
          </Card>
          {data.rows.length > 0 && (
            <Rows by={by} rows={by === 'day' || isHourly ? data.rows.toReversed() : data.rows} />
          )}
        </>
      )}
      {!mayChange && budgets.error && <Failed error={budgets.error} retry={budgets.refetch} />}
      {mayChange ? <Limits /> : budgets.data && <Budgets budgets={budgets.data.budgets} />}
    </div>
  )
}

/** Number of days that the forecast uses: the longest month, and a week before it. */
const forecastDays = 38

function Forecast({ fleet }: { readonly fleet: BudgetView | undefined }) {
  const now = useNow(60_000)
  const report = useMesh('costReport', { query: { by: 'day', days: forecastDays } })
  if (!report.data) return null
  const { monthUsd, dayUsd, forecastUsd } = forecastMonth(report.data.rows, now)
  const limit = fleet?.monthly.limit_usd ?? null
  const isOver = limit !== null && forecastUsd > limit
  return (
    <div className="card figure">
      <span className="small muted">By the month’s end</span>
      <span className="value number">{formatUsd(forecastUsd)}</span>
      <span className="small muted number">
        {formatUsd(monthUsd)} so far, {formatUsd(dayUsd)} a day lately
      </span>
      {isOver && <Badge tone="warn">over the limit of {formatUsd(limit)}</Badge>}
    </div>
  )
}

/** Tokens of all models over time: they are used also where nothing is paid. */
function TokenChart({ by, days }: { readonly by: 'hour' | 'day'; readonly days: number }) {
  const report = useMesh('costReport', { query: { by, days } })
  const series = useMemo(() => report.data && tokenSeries(report.data), [report.data])
  if (!series) return <Loading />
  return (
    <Suspense fallback={<Loading />}>
      <DailyChart report={series} unit="tokens" limitUsd={null} />
    </Suspense>
  )
}

function chartTitle(by: (typeof groups)[number], unit: ChartUnit): string {
  if (unit === 'tokens') return by === 'hour' ? 'Tokens an hour' : 'Tokens a day'
  if (by === 'hour') return 'Dollars an hour'
  return by === 'day' ? 'Dollars a day' : `Dollars a day, by ${groupTitles[by].toLowerCase()}`
}

/** Returns the bars of the chart: one series for days and hours, else one for each row. Pure. */
function chartReport(report: Reply<'costReport'>) {
  if (report.by === 'hour') return hourlySeries(report)
  return { ...(report.by === 'day' ? asOneRow(report) : report), bars: daysFrom(report.from, report.rows) }
}

/** Sums the daily costs of all rows, because the chart draws them as one series. */
function asOneRow({ from, rows }: Reply<'costReport'>) {
  const days = rows[0]?.daily_usd.length ?? 0
  const daily = Array.from({ length: days }, (_, day) =>
    rows.reduce((sum, row) => sum + (row.daily_usd[day] ?? 0), 0),
  )
  return { from, rows: [{ key: 'all', daily_usd: daily }] }
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div className="card figure">
      <span className="small muted">{label}</span>
      <span className="value number">{value}</span>
    </div>
  )
}

type CostRow = Reply<'costReport'>['rows'][number]

function SavedByCache({
  total,
  isFree,
}: {
  readonly total: Reply<'costReport'>['total']
  readonly isFree: boolean
}) {
  const { read_usd: readUsd, written_usd: writtenUsd, saved_usd: savedUsd } = total.cache
  if (isFree) return <Figure label="Read from the cache" value={formatShare(cacheHitRate(total))} />
  return (
    <div className="card figure">
      <span className="small muted">Saved by cache</span>
      <span className="value number">{formatUsd(savedUsd)}</span>
      <span className="small muted number">
        {formatShare(cacheHitRate(total))} of the tokens read; reads cost {formatUsd(readUsd)}, writes{' '}
        {formatUsd(writtenUsd)}
      </span>
    </div>
  )
}

/** What calls cost, in words where they have no price. Pure. */
function spentWords(costs: Omit<CostRow, 'key' | 'daily_usd'>): string {
  if (isUnpriced(costs)) return 'unpriced'
  return costs.usd === 0 && costs.calls > 0 ? 'free' : upTo(formatUsd(costs.usd), costs.unconfirmed_usd)
}

/** A call that broke off is booked with the tokens that were reserved for its answer. */
function writtenWords(costs: Pick<CostRow, 'completion_tokens' | 'unconfirmed_usd'>): string {
  return upTo(formatTokens(costs.completion_tokens), costs.unconfirmed_usd)
}

function Rows({ by, rows }: { readonly by: (typeof groups)[number]; readonly rows: readonly CostRow[] }) {
  const isCached = rows.some(hasCacheUse)
  return (
    <Card title={`By ${groupTitles[by].toLowerCase()}`}>
      <Scrolls label="Table of costs">
        <table className="table stacks number">
          <thead>
            <tr>
              <th>{groupTitles[by]}</th>
              <th className="right">Dollars</th>
              <th className="right">Calls</th>
              <th className="right">Tokens read</th>
              <th className="right">Tokens written</th>
              {isCached && <th className="right">From the cache</th>}
              {isCached && <th className="right">Saved by cache</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <td>{costKeyWords(by, row.key)}</td>
                <td className="right" data-label="Dollars">
                  {spentWords(row)}
                  {row.unconfirmed_usd > 0 && (
                    <div className="small muted">{formatUsd(row.unconfirmed_usd)} unconfirmed</div>
                  )}
                </td>
                <td className="right" data-label="Calls">
                  {row.calls}
                </td>
                <td className="right" data-label="Tokens read">
                  {formatTokens(row.prompt_tokens)}
                </td>
                <td className="right" data-label="Tokens written">
                  {writtenWords(row)}
                </td>
                {isCached && (
                  <td className="right" data-label="From the cache">
                    {formatShare(cacheHitRate(row))}
                  </td>
                )}
                {isCached && (
                  <td className="right" data-label="Saved by cache">
                    {formatUsd(row.cache.saved_usd)}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </Card>
  )
}

function Budgets({ budgets }: { readonly budgets: readonly BudgetView[] }) {
  return (
    <Card title="Budgets">
      <BudgetList budgets={budgets} className="body halves">
        {(budget) => (
          <li key={`${budget.scope}:${budget.id}`} className="budget">
            <h3>{budgetTitle(budget)}</h3>
            <BudgetPeriod name="Today" whose={budget.id || 'the fleet'} period={budget.daily} />
            <BudgetPeriod name="This month" whose={budget.id || 'the fleet'} period={budget.monthly} />
          </li>
        )}
      </BudgetList>
    </Card>
  )
}
