import { upTo } from '@flotilla/protocol/up-to'
import { keepPreviousData } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { wireLimits } from '@flotilla/protocol/limits'
import { originKinds } from '@flotilla/protocol/origin'
import type { OriginKind } from '@flotilla/protocol/origin'
import { runStates } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatDuration, formatTokens, formatUsd } from '../../data/format.ts'
import { saveFile } from '../../data/save-file.ts'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { useSettled } from '../../data/use-settled.ts'
import { Choice } from '../../design/choice.tsx'
import { useNow } from '../../data/use-now.ts'
import { Ago, Badge, Empty, Failed, Loading, PageHead } from '../../design/parts.tsx'
import { runTone } from '../../live/draw-event.ts'
import { titleOfRun } from '../describe-run-input.ts'
import { chosenDays, periodBounds, runPeriods } from './run-filter.ts'
import { SavedFilters } from './saved-filters.tsx'
import { StopOpenRuns } from './stop-open-runs.tsx'
import { runOrders, sortRuns } from './sort-runs.ts'

/** How often the bounds of a period such as the last hour move, in milliseconds. */
const periodEveryMs = 60_000
/** Number of runs on one page of the list. */
const listed = 500
const rowHeightPx = 40

/** What the work of a run comes from. */
const originWords: Readonly<Record<OriginKind, string>> = {
  human: 'person',
  operator: 'operator',
  agent: 'agent',
  system: 'mesh',
  cron: 'schedule',
  heartbeat: 'heartbeat',
  webhook: 'webhook',
  watcher: 'folder',
}

export function RunsPage() {
  const [chosen, choose] = useChoice(['agent', 'state', 'from', 'find', 'when', 'first', 'last', 'sort'])
  const { agent, state: stateWords, from: fromWords, find: search, when, first, last } = chosen
  const order = runOrders.find((one) => one === chosen.sort) ?? runOrders[0]
  const now = useNow(periodEveryMs)
  // Ignores a state in the address that does not exist.
  const state = runStates.find((one) => one === stateWords)
  const from = originKinds.find((one) => one === fromWords)
  const find = useSettled(search.trim().slice(0, wireLimits.runSearchMaxChars))
  const filter = {
    ...(agent === '' ? {} : { agent }),
    ...(state === undefined ? {} : { state }),
    ...(from === undefined ? {} : { from }),
    ...(find === '' ? {} : { find }),
  }
  const period = { when, from: first, until: last }
  // The bounds of a period such as the last hour move with time, its name does not.
  const question = JSON.stringify({ ...filter, ...(when + first + last === '' ? {} : period) })
  /** The last run of each earlier page for the present filter. */
  const [turned, setTurned] = useState<{ readonly question: string; readonly pages: readonly string[] }>({
    question,
    pages: [],
  })
  const pages = turned.question === question ? turned.pages : []
  const before = pages.at(-1)
  const status = useMesh('status')
  const runs = useMesh(
    'runs',
    {
      query: {
        limit: listed,
        ...filter,
        ...periodBounds(period, now),
        ...(before === undefined ? {} : { before }),
      },
    },
    { placeholderData: keepPreviousData },
  )
  const tasks = useMesh('tasks', { query: { limit: listed, ...(agent === '' ? {} : { agent }) } })
  const titles = new Map((tasks.data?.tasks ?? []).map(({ id, title }) => [id, title]))
  const about = (run: RunView): string => {
    const title = run.input.kind === 'task' ? titles.get(run.input.task_id) : undefined
    return title === undefined ? titleOfRun(run) : `Task: ${title}`
  }
  const agents = (status.data?.agents ?? []).map(({ id }) => id)
  const shown = sortRuns(runs.data?.runs ?? [], order, now)
  const older = runs.data?.older ?? null
  const isAll = question === '{}'

  return (
    <div className="page">
      <PageHead title="Runs">
        <SavedFilters />
        <StopOpenRuns runs={shown} about={about} />
        <ExportRuns runs={shown} />
      </PageHead>
      <div className="row filters">
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search runs"
          value={search}
          onChange={(event) => choose('find', event.target.value)}
        />
        <Choice name="Agent" value={agent} of={agents} onChange={(value) => choose('agent', value)} />
        <Choice
          name="From"
          value={from ?? ''}
          of={originKinds}
          words={originWords}
          onChange={(value) => choose('from', value)}
        />
        <Choice
          name="State"
          value={state ?? ''}
          of={runStates}
          onChange={(value) => choose('state', value)}
        />
        <Choice
          name="When"
          value={when}
          of={[...Object.keys(runPeriods), chosenDays]}
          onChange={(value) => choose('when', value)}
        />
        {(when === chosenDays || (when === '' && first + last !== '')) && (
          <>
            <DayField label="First day" value={first} onChange={(day) => choose('first', day)} />
            <DayField label="Last day" value={last} onChange={(day) => choose('last', day)} />
          </>
        )}
        <select
          className="input"
          aria-label="Order"
          value={order}
          onChange={(event) => choose('sort', event.target.value === runOrders[0] ? '' : event.target.value)}
        >
          {runOrders.map((one) => (
            <option key={one} value={one}>
              {one} first
            </option>
          ))}
        </select>
      </div>
      {order !== runOrders[0] && older !== null && (
        <p className="small muted">The order is that of the {shown.length} runs on this page of the list.</p>
      )}
      {runs.error && <Failed error={runs.error} retry={runs.refetch} />}
      <section className="card" aria-label="Runs" aria-busy={runs.isPlaceholderData}>
        {runs.isPending && <Loading />}
        {runs.isSuccess && shown.length === 0 && (
          <Empty title={isAll ? 'Nothing ran yet' : 'No run matches'}>
            {isAll
              ? 'Everything that an agent does is a run, started by a message, a job or a hand-off. Ask an agent something in Chat.'
              : older === null
                ? 'Choose another agent or state, or other words.'
                : 'None of the runs searched so far matches; Older searches further back.'}
          </Empty>
        )}
        {shown.length > 0 && <RunList key={before ?? ''} runs={shown} about={about} />}
      </section>
      {(pages.length > 0 || older !== null) && (
        <nav className="row apart" aria-label="Pages of runs">
          <button
            type="button"
            className="button"
            disabled={pages.length === 0}
            onClick={() => setTurned({ question, pages: pages.slice(0, -1) })}
          >
            Newer
          </button>
          <button
            type="button"
            className="button"
            disabled={older === null || runs.isPlaceholderData}
            onClick={() => older !== null && setTurned({ question, pages: [...pages, older] })}
          >
            Older
          </button>
        </nav>
      )}
    </div>
  )
}

/** A day by which runs are filtered; empty for none. */
function DayField({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (day: string) => void
}) {
  return (
    <label className="row unwrapped small muted">
      {label}
      <input className="input" type="date" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  )
}

function ExportRuns({ runs }: { readonly runs: readonly RunView[] }) {
  return (
    <button
      type="button"
      className="button"
      disabled={runs.length === 0}
      onClick={() => saveFile('runs.json', `${JSON.stringify({ runs }, null, 2)}\n`)}
    >
      Export JSON
    </button>
  )
}

function RunList({
  runs,
  about,
}: {
  readonly runs: readonly RunView[]
  readonly about: (run: RunView) => string
}) {
  const box = useRef<HTMLDivElement>(null)
  const now = useNow()
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeightPx,
    overscan: 12,
  })
  return (
    <>
      <div className="list-row list-head run-row" aria-hidden="true">
        <span>State</span>
        <span className="only-wide">Agent</span>
        <span>Asked</span>
        <span className="only-wide">From</span>
        <span className="only-wide right">Took</span>
        <span className="only-wide right">Tokens</span>
        <span className="right">Cost</span>
        <span className="only-wide">When</span>
      </div>
      <div className="list-scroll" ref={box}>
        <div className="list-rows" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const run = runs[index]
            if (!run) return null
            return (
              <Link
                key={run.id}
                href={`/runs/${run.id}`}
                className="list-row run-row"
                style={{ transform: `translateY(${start}px)` }}
              >
                <span>
                  <Badge tone={runTone(run.state)}>{run.state}</Badge>
                </span>
                <span className="clip only-wide">{run.agent_id}</span>
                <span className="clip">
                  <span className="only-narrow muted">{run.agent_id} · </span>
                  {about(run)}
                </span>
                <span className="clip muted only-wide">{originWords[run.origin.kind]}</span>
                <span className="muted number right only-wide">
                  {run.started_at === null ? '' : formatDuration((run.ended_at ?? now) - run.started_at)}
                </span>
                <span className="muted number right only-wide">
                  {upTo(formatTokens(run.tokens_used), run.unconfirmed_tokens)}
                </span>
                <span className="number right">{upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}</span>
                <span className="muted only-wide">
                  <Ago at={run.created_at} />
                </span>
              </Link>
            )
          })}
        </div>
      </div>
    </>
  )
}
