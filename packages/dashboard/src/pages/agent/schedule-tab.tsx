import { useState } from 'react'
import { Link } from 'wouter'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { useNow } from '../../data/use-now.ts'
import { Act } from '../../design/act.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { HeartbeatSaw } from '../heartbeat-saw.tsx'
import { formatSchedule } from '../triggers/format-schedule.ts'
import { HeartbeatForm } from '../triggers/heartbeat-form.tsx'
import { JobButtons } from '../triggers/job-buttons.tsx'
import { JobForm } from '../triggers/job-form.tsx'

const rowsShown = 5

/** Shows an agent's heartbeat and jobs: when each is due next, and why an earlier due time started no run. */
export function ScheduleTab({ agentId }: { readonly agentId: string }) {
  const jobs = useMesh('cronJobs', { query: { agent: agentId } })
  const now = useNow()
  const listed = jobs.data?.jobs ?? []
  /** The id of the job that is edited; empty for a new one. */
  const [changing, setChanging] = useState<string | null>(null)
  const own = listed.find(({ heartbeat }) => heartbeat)
  const others = listed.filter(({ heartbeat }) => !heartbeat)
  return (
    <>
      <Heartbeat agentId={agentId} job={own} />
      <Card
        title="Cron jobs"
        more={
          <Act call="cronCreate" agent={agentId} className="button small" onClick={() => setChanging('')}>
            New job …
          </Act>
        }
      >
        {jobs.isPending && <Loading />}
        {jobs.error && <Failed error={jobs.error} retry={jobs.refetch} />}
        {jobs.data?.broken != null && <Failed error={new Error(jobs.data.broken)} />}
        {jobs.isSuccess && others.length === 0 && (
          <Empty title="No job yet">
            Create a job above, or ask the agent in Chat to do something every morning.
          </Empty>
        )}
        {others.map((job) => (
          <div key={job.id} className="kept-row">
            <div className="row apart">
              <div className="row">
                <strong>{formatSchedule(job.schedule)}</strong>
                <span className="small muted">
                  <span className="mono">{job.schedule}</span>, {job.timezone}
                </span>
                {!job.enabled && <Badge>off</Badge>}
                {job.errors_in_row > 0 && <Badge tone="bad">{job.errors_in_row} failed in a row</Badge>}
              </div>
              <span className="small muted">
                {job.next_run === null ? 'not scheduled' : <Ago at={Math.max(job.next_run, now)} />}
              </span>
            </div>
            <p className="plain-text">{job.message ?? job.tool_name ?? job.mode}</p>
            <JobButtons job={job} onChange={() => setChanging(job.id)} />
            <DueTimes job={job} />
          </div>
        ))}
        {changing !== null && (
          <JobForm
            key={changing}
            agentId={agentId}
            job={others.find(({ id }) => id === changing) ?? null}
            onClose={() => setChanging(null)}
          />
        )}
      </Card>
    </>
  )
}

function Heartbeat({ agentId, job }: { readonly agentId: string; readonly job: CronJobView | undefined }) {
  const heartbeats = useMesh('heartbeats')
  const run = useAction('heartbeatRun', {
    done: 'The heartbeat ran.',
    stale: ['heartbeats', 'runs', 'cronHistory'],
  })
  const own = heartbeats.data?.heartbeats.find((one) => one.agent_id === agentId)
  const [changing, setChanging] = useState(false)
  return (
    <Card
      title="Heartbeat"
      more={
        <span className="row">
          {own && !own.locked && (
            <Act
              call="heartbeatSet"
              agent={agentId}
              className="button small"
              onClick={() => setChanging(true)}
            >
              Change …
            </Act>
          )}
          <Act
            call="heartbeatRun"
            agent={agentId}
            className="button small"
            disabled={run.isPending}
            onClick={() => run.mutate({ params: { id: agentId }, body: {} })}
          >
            {run.isPending ? 'Running …' : 'Run now'}
          </Act>
        </span>
      }
    >
      {heartbeats.isPending && <Loading />}
      {heartbeats.error && <Failed error={heartbeats.error} retry={heartbeats.refetch} />}
      {heartbeats.data && (
        <div className="kept-row">
          <div className="row">
            <strong>{own?.schedule == null ? 'No heartbeat' : formatSchedule(own.schedule)}</strong>
            {own?.locked && <Badge>fixed</Badge>}
          </div>
          {own?.last && <HeartbeatSaw fire={own.last} />}
          {job?.enabled === true && <DueTimes job={job} />}
        </div>
      )}
      {changing && (
        <HeartbeatForm
          agentId={agentId}
          schedule={own?.schedule ?? null}
          onClose={() => setChanging(false)}
        />
      )}
    </Card>
  )
}

/** Shows the result of the job's last due times, and why it did not fire. */
function DueTimes({ job }: { readonly job: CronJobView }) {
  const history = useMesh('cronHistory', { params: { id: job.id }, query: { limit: rowsShown } })
  if (!history.data) return null
  const { rows, why } = history.data
  // The job's first sentence names what the row above shows, and the last ones are those of the rows below.
  const listed = new Set(rows.map(({ words }) => words))
  return (
    <div className="stack small tight">
      {why
        .slice(1)
        .filter((sentence) => !listed.has(sentence))
        .map((sentence) => (
          <p key={sentence} className="muted">
            {sentence}
          </p>
        ))}
      {rows.map((row) => (
        <div key={`${row.due_at}:${row.at}`} className="row">
          <Badge tone={row.state === 'skipped' ? 'warn' : row.outcome === 'failed' ? 'bad' : 'ok'}>
            {row.state}
          </Badge>
          <span className="muted">
            <Ago at={row.due_at} />
          </span>
          <span className="plain-text">{row.words}</span>
          {row.run_id !== null && <Link href={`/runs/${row.run_id}`}>Its run</Link>}
        </div>
      ))}
    </div>
  )
}
