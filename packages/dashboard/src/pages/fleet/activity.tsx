import { Link } from 'wouter'
import { isProactive } from '@flotilla/protocol/origin'
import type { RunView } from '@flotilla/protocol/run'
import { upTo } from '@flotilla/protocol/up-to'
import { firstLine } from '../../data/first-line.ts'
import { formatUsd } from '../../data/format.ts'
import { useLive, useMesh } from '../../data/use-mesh.ts'
import { Ago, Card, Dot, Empty, Failed, Loading } from '../../design/parts.tsx'
import { drawEvent, runTone } from '../../live/draw-event.ts'
import { titleOfRun } from '../describe-run-input.ts'
import { NextStepLine } from '../next-step-line.tsx'

const runsMax = 30
const eventsMax = 60

/** One line for each of the last runs, open ones first; and every event, folded. */
export function Activity() {
  const runs = useMesh('runs', { query: { limit: runsMax } })
  const tasks = useMesh('tasks', { query: { limit: runsMax } })
  const titles = new Map((tasks.data?.tasks ?? []).map(({ id, title }) => [id, title]))
  const listed = runs.data?.runs ?? []
  return (
    <Card
      title="Activity"
      more={
        <Link href="/runs" className="small">
          All runs
        </Link>
      }
    >
      {runs.isPending && <Loading />}
      {runs.error && <Failed error={runs.error} retry={runs.refetch} />}
      {runs.isSuccess && listed.length === 0 && (
        <Empty title="Quiet">What agents do appears here as it happens.</Empty>
      )}
      <ul
        className="feed"
        aria-label="Newest runs"
        // A part that scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {openFirst(listed).map((run) => (
          <RunLine
            key={run.id}
            run={run}
            title={run.input.kind === 'task' ? titles.get(run.input.task_id) : undefined}
            ahead={listed.find((one) => one.agent_id === run.agent_id && one.state === 'running')}
          />
        ))}
      </ul>
      <details className="feed-events">
        <summary className="small muted">Every event</summary>
        <Events />
      </details>
    </Card>
  )
}

function RunLine({
  run,
  title,
  ahead,
}: {
  readonly run: RunView
  /** The title of the run's task, if it has one. */
  readonly title: string | undefined
  readonly ahead: RunView | undefined
}) {
  return (
    <li>
      <Dot tone={runTone(run.state)} />
      <div className="what">
        <strong>{run.agent_id}</strong>{' '}
        <span className="muted">
          {run.kind === 'chat' && isProactive(run.origin) ? run.origin.kind : run.kind}
        </span>{' '}
        <Link href={`/runs/${run.id}`}>
          {title === undefined ? firstLine(titleOfRun(run)) : `Task: ${title}`}
        </Link>
        <div className="small muted next-step">
          <NextStepLine run={run} ahead={ahead} />
        </div>
      </div>
      <span className="muted right number">
        {upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}
        <br />
        <Ago at={run.created_at} />
      </span>
    </li>
  )
}

function openFirst(runs: readonly RunView[]): readonly RunView[] {
  return runs.toSorted((one, other) => Number(other.ended_at === null) - Number(one.ended_at === null))
}

function Events() {
  const { events } = useLive()
  return (
    <ul className="feed" aria-label="Newest events" tabIndex={0}>
      {events
        .slice(-eventsMax)
        .toReversed()
        .map(({ seq, at, body }) => {
          const { tone, who, what, runId } = drawEvent(body)
          return (
            <li key={seq}>
              <Dot tone={tone} />
              <span className="what">
                <strong>{who}</strong>{' '}
                {runId === undefined ? what : <Link href={`/runs/${runId}`}>{what}</Link>}
              </span>
              <span className="muted">
                <Ago at={at} />
              </span>
            </li>
          )
        })}
    </ul>
  )
}
