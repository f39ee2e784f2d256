import { useState } from 'react'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { useNow } from '../../data/use-now.ts'
import { Act } from '../../design/act.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { JobButtons } from './job-buttons.tsx'
import { JobForm } from './job-form.tsx'
import { JobHistory } from './job-history.tsx'
import { formatSchedule } from './format-schedule.ts'

export function Jobs() {
  const jobs = useMesh('cronJobs')
  const [shown, setShown] = useState<string | null>(null)
  /** The id of the job that is edited; empty for a new one. */
  const [edited, setEdited] = useState<string | null>(null)
  const [{ new: made }, choose] = useChoice(['new'])
  const changing = made === 'job' ? '' : edited
  const setChanging = (id: string | null): void => {
    choose('new', id === '' ? 'job' : '')
    setEdited(id === '' ? null : id)
  }
  // Heartbeats are on a separate card.
  const listed = (jobs.data?.jobs ?? []).filter(({ heartbeat }) => !heartbeat)
  return (
    <Card
      title="Cron jobs"
      more={
        <Act call="cronCreate" className="button small" onClick={() => setChanging('')}>
          New job …
        </Act>
      }
    >
      {jobs.isPending && <Loading />}
      {jobs.error && <Failed error={jobs.error} retry={jobs.refetch} />}
      {jobs.data?.broken != null && <Failed error={new Error(jobs.data.broken)} />}
      {jobs.isSuccess && listed.length === 0 && (
        <Empty title="No job yet">
          Make one above, or ask an agent in Chat to do something every morning.
        </Empty>
      )}
      {listed.length > 0 && (
        <Table
          label="Table of jobs"
          columns={['Schedule', 'Agent', 'Does', 'Next', 'Last', { right: 'Ran' }]}
          hasActions
        >
          {listed.map((job) => (
            <JobRow
              key={job.id}
              job={job}
              open={shown === job.id}
              onChange={() => setChanging(job.id)}
              onToggle={() => setShown(shown === job.id ? null : job.id)}
            />
          ))}
        </Table>
      )}
      {changing !== null && (
        <JobForm
          key={changing}
          agentId={listed.find(({ id }) => id === changing)?.agent ?? null}
          job={listed.find(({ id }) => id === changing) ?? null}
          onClose={() => setChanging(null)}
        />
      )}
    </Card>
  )
}

function JobRow({
  job,
  open,
  onChange,
  onToggle,
}: {
  readonly job: CronJobView
  readonly open: boolean
  readonly onChange: () => void
  readonly onToggle: () => void
}) {
  const now = useNow()
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
        <td data-label="Next">
          {job.next_run === null ? <Badge>paused</Badge> : <Ago at={Math.max(job.next_run, now)} />}
        </td>
        <td data-label="Last">
          {job.last_run === null ? <span className="muted">never</span> : <Ago at={job.last_run} />}
          {job.errors_in_row > 0 && <Badge tone="bad">{job.errors_in_row} failed in a row</Badge>}
        </td>
        <td className="right number" data-label="Ran">
          {job.run_count}
          {job.skip_count > 0 && <div className="small muted">{job.skip_count} skipped</div>}
        </td>
        <td className="trigger-buttons">
          <JobButtons job={job} onChange={onChange}>
            <button type="button" className="button small quiet" aria-expanded={open} onClick={onToggle}>
              Why and when
            </button>
          </JobButtons>
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
