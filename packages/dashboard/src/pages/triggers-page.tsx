import { useState } from 'react'
import { Link } from 'wouter'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { formatBytes } from '../data/format.ts'
import { useAction, useMesh } from '../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading, PageHead, Scrolls } from '../design/parts.tsx'

export function TriggersPage() {
  return (
    <div className="page">
      <PageHead title="Triggers" />
      <Jobs />
      <div className="halves">
        <Heartbeats />
        <Watchers />
      </div>
    </div>
  )
}

function Jobs() {
  const jobs = useMesh('cronJobs')
  const [shown, setShown] = useState<string | null>(null)
  // Heartbeats have a card of their own.
  const listed = (jobs.data?.jobs ?? []).filter(({ heartbeat }) => !heartbeat)
  return (
    <Card title="Jobs by the clock">
      {jobs.isPending && <Loading />}
      {jobs.error && <Failed error={jobs.error} retry={jobs.refetch} />}
      {jobs.data?.broken != null && <Failed error={new Error(jobs.data.broken)} />}
      {jobs.isSuccess && listed.length === 0 && (
        <Empty title="No job yet">
          Ask an agent to do something every morning, or run{' '}
          <code>npm run flotilla -- cron add AGENT &quot;0 9 * * *&quot; --message &quot;…&quot;</code>.
        </Empty>
      )}
      {listed.length > 0 && (
        <Scrolls label="Table of jobs">
          <table className="table stacks">
            <thead>
              <tr>
                <th>Schedule</th>
                <th>Agent</th>
                <th>Does</th>
                <th>Next</th>
                <th>Last</th>
                <th className="right">Ran</th>
                <th>
                  <span className="hidden-words">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {listed.map((job) => (
                <JobRow
                  key={job.id}
                  job={job}
                  open={shown === job.id}
                  onToggle={() => setShown(shown === job.id ? null : job.id)}
                />
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </Card>
  )
}

function JobRow({
  job,
  open,
  onToggle,
}: {
  readonly job: CronJobView
  readonly open: boolean
  readonly onToggle: () => void
}) {
  const stale = ['cronJobs', 'cronHistory'] as const
  const run = useAction('cronRun', { done: `The job of ${job.agent} was fired.`, stale })
  const update = useAction('cronUpdate', { stale })
  return (
    <>
      <tr>
        <td>
          <span className="mono">{job.schedule}</span>
          <div className="small muted">
            {job.timezone}
            {job.when !== null && `, when ${job.when}`}
          </div>
        </td>
        <td data-label="Agent">{job.agent}</td>
        <td data-label="Does">
          {job.mode === 'tool' ? <span className="mono">{job.tool_name}</span> : (job.message ?? job.mode)}
          {job.note !== '' && <div className="small muted">{job.note}</div>}
        </td>
        <td data-label="Next">{job.next_run === null ? <Badge>off</Badge> : <Ago at={job.next_run} />}</td>
        <td data-label="Last">
          {job.last_run === null ? <span className="muted">never</span> : <Ago at={job.last_run} />}
          {job.errors_in_row > 0 && <Badge tone="bad">{job.errors_in_row} failed in a row</Badge>}
        </td>
        <td className="right number" data-label="Ran">
          {job.run_count}
          {job.skip_count > 0 && <div className="small muted">{job.skip_count} skipped</div>}
        </td>
        <td>
          <div className="row">
            <button
              type="button"
              className="button small"
              disabled={run.isPending}
              onClick={() => run.mutate({ params: { id: job.id } })}
            >
              Run now
            </button>
            <button
              type="button"
              className="button small"
              disabled={update.isPending}
              onClick={() => update.mutate({ params: { id: job.id }, body: { enabled: !job.enabled } })}
            >
              {job.enabled ? 'Switch off' : 'Switch on'}
            </button>
            <button type="button" className="button small quiet" aria-expanded={open} onClick={onToggle}>
              History
            </button>
          </div>
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={7}>
            <JobHistory id={job.id} />
          </td>
        </tr>
      )}
    </>
  )
}

/** What became of its due times, and why it did not fire. */
function JobHistory({ id }: { readonly id: string }) {
  const history = useMesh('cronHistory', { params: { id }, query: { limit: 50 } })
  if (history.isPending) return <Loading />
  if (history.error) return <Failed error={history.error} retry={history.refetch} />
  const { rows, why } = history.data
  return (
    <div className="stack">
      {why.map((sentence) => (
        <p key={sentence} className="muted">
          {sentence}
        </p>
      ))}
      <ol className="stack">
        {rows.map((row) => (
          <li key={`${row.due_at}:${row.at}`} className="row">
            <Badge tone={row.state === 'skipped' ? 'warn' : row.outcome === 'failed' ? 'bad' : 'ok'}>
              {row.state}
            </Badge>
            <span className="muted">
              <Ago at={row.due_at} />
            </span>
            <span>{row.words}</span>
            {row.run_id !== null && <Link href={`/runs/${row.run_id}`}>Its run</Link>}
          </li>
        ))}
      </ol>
    </div>
  )
}

function Heartbeats() {
  const beats = useMesh('heartbeats')
  return (
    <Card title="Heartbeats">
      {beats.isPending && <Loading />}
      {beats.error && <Failed error={beats.error} retry={beats.refetch} />}
      {beats.data && (
        <Scrolls label="Table of heartbeats">
          <table className="table">
            <thead>
              <tr>
                <th>Agent</th>
                <th>Looks around</th>
                <th>Last</th>
              </tr>
            </thead>
            <tbody>
              {beats.data.heartbeats.map(({ agent_id, schedule, locked, last }) => (
                <tr key={agent_id}>
                  <td>{agent_id}</td>
                  <td>
                    {schedule ?? <span className="muted">not by itself</span>}{' '}
                    {locked && <Badge>fixed</Badge>}
                  </td>
                  <td>
                    {last === null && <span className="muted">never</span>}
                    {last && <Ago at={last.at} />}
                    {last && last.skipped !== null && (
                      <div className="small muted">skipped: {last.skipped}</div>
                    )}
                    {last && last.run_id !== null && (
                      <div className="small">
                        <Link href={`/runs/${last.run_id}`}>Its run</Link>
                      </div>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </Card>
  )
}

function Watchers() {
  const watchers = useMesh('watchers')
  const fired = useMesh('watcherHistory', { query: { limit: 20 } })
  return (
    <Card title="Watched files">
      {watchers.isPending && <Loading />}
      {watchers.error && <Failed error={watchers.error} retry={watchers.refetch} />}
      {watchers.data?.broken != null && <Failed error={new Error(watchers.data.broken)} />}
      {watchers.data?.watchers.length === 0 && (
        <Empty title="No folder is watched">
          Name one in <code>config/watchers.yaml</code>; a file that is new or changed there becomes a run.
        </Empty>
      )}
      <ul className="stack body">
        {watchers.data?.watchers.map((watch) => (
          <li key={watch.id} className="stack">
            <div className="row apart">
              <span className="mono">
                {watch.path}/{watch.pattern}
              </span>
              <span>
                {watch.agent} <span className="muted">{watch.fired} fired</span>
              </span>
            </div>
            {watch.trouble !== null && <div className="note warn small">{watch.trouble}</div>}
            {watch.held !== null && <div className="note warn small">{watch.held}</div>}
          </li>
        ))}
        {fired.data?.fired.map((one) => (
          <li key={one.run_id} className="row small">
            <Ago at={one.fired_at} />
            <Link href={`/runs/${one.run_id}`}>{one.filepath}</Link>
            <span className="muted">
              {one.change}, {formatBytes(one.size_bytes)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
