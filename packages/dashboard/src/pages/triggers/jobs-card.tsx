import { useState } from 'react'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Empty, Failed, Loading, Scrolls } from '../../design/parts.tsx'
import { JobHistory } from './job-history.tsx'
import { formatSchedule } from './format-schedule.ts'

export function Jobs() {
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
          <code>flotilla cron add AGENT &quot;0 9 * * *&quot; --message &quot;…&quot;</code>.
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
          {formatSchedule(job.schedule)}
          <div className="small muted">
            <span className="mono">{job.schedule}</span>, {job.timezone}
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
              Why and when
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
