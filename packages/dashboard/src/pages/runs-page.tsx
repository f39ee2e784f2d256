import { upTo } from '@flotilla/protocol/up-to'
import { keepPreviousData } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { wireLimits } from '@flotilla/protocol/limits'
import { originKinds } from '@flotilla/protocol/origin'
import { runStates } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatDuration, formatTokens, formatUsd } from '../data/format.ts'
import { useChoice } from '../data/use-choice.ts'
import { useMesh } from '../data/use-mesh.ts'
import { useSettled } from '../data/use-settled.ts'
import { Choice } from '../design/choice.tsx'
import { useNow } from '../data/use-now.ts'
import { Ago, Badge, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { runTone } from '../live/draw-event.ts'
import { describeRunInput } from './describe-run-input.ts'

/** Number of runs on one page of the list. */
const listed = 500
const rowHeightPx = 40

export function RunsPage() {
  const [{ agent, state: stateWords, from: fromWords, find: search }, choose] = useChoice([
    'agent',
    'state',
    'from',
    'find',
  ])
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
  const question = JSON.stringify(filter)
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
    { query: { limit: listed, ...filter, ...(before === undefined ? {} : { before }) } },
    { placeholderData: keepPreviousData },
  )
  const tasks = useMesh('tasks', { query: { limit: listed, ...(agent === '' ? {} : { agent }) } })
  const titles = new Map((tasks.data?.tasks ?? []).map(({ id, title }) => [id, title]))
  const about = (run: RunView): string => {
    const title = run.input.kind === 'task' ? titles.get(run.input.task_id) : undefined
    return title === undefined ? describeRunInput(run) : `Task: ${title}`
  }
  const agents = (status.data?.agents ?? []).map(({ id }) => id)
  const shown = runs.data?.runs ?? []
  const older = runs.data?.older ?? null
  const isAll = question === '{}'

  return (
    <div className="page">
      <PageHead title="Runs">
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search runs"
          value={search}
          onChange={(event) => choose('find', event.target.value)}
        />
        <Choice name="Agent" value={agent} of={agents} onChange={(value) => choose('agent', value)} />
        <Choice name="From" value={from ?? ''} of={originKinds} onChange={(value) => choose('from', value)} />
        <Choice
          name="State"
          value={state ?? ''}
          of={runStates}
          onChange={(value) => choose('state', value)}
        />
      </PageHead>
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
        <span className="only-wide">Took</span>
        <span>Cost</span>
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
                <span className="clip muted only-wide">{run.origin.kind}</span>
                <span className="muted number only-wide">
                  {run.started_at === null ? '' : formatDuration((run.ended_at ?? now) - run.started_at)}
                </span>
                <span
                  className="number"
                  title={`${upTo(formatTokens(run.tokens_used), run.unconfirmed_tokens)} tokens`}
                >
                  {upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}
                </span>
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
