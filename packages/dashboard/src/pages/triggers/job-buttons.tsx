import type { ReactNode } from 'react'
import type { CronJobView } from '@flotilla/protocol/cron-api'
import { useAction, useServices } from '../../data/use-mesh.ts'
import { jobAgain } from './job-edit.ts'
import { Act } from '../../design/act.tsx'

const stale = ['cronJobs', 'cronHistory'] as const

/** Buttons for a job; every action except firing can be undone. */
export function JobButtons({
  job,
  onChange,
  children,
}: {
  readonly job: CronJobView
  readonly onChange: () => void
  /** More of them. */
  readonly children?: ReactNode
}) {
  const { client } = useServices()
  const params = { id: job.id }
  const run = useAction('cronRun', { done: `The job of ${job.agent} was fired.`, stale })
  const change = useAction('cronUpdate', {
    done: job.enabled ? 'The job is paused.' : 'The job is resumed.',
    stale,
    undo: () => ({
      by: 'cronUpdate',
      run: () => client.call('cronUpdate', { params, body: { enabled: job.enabled } }),
      done: 'The change of the job is undone.',
    }),
  })
  const remove = useAction('cronRemove', {
    done: 'The job is removed.',
    stale,
    undo: () => ({
      by: 'cronCreate',
      run: () => client.call('cronCreate', { body: jobAgain(job) }),
      done: 'The job is restored; its counts start at zero.',
    }),
  })
  const busy = run.isPending || change.isPending || remove.isPending
  return (
    <div className="row">
      <Act
        call="cronRun"
        agent={job.agent}
        className="button small"
        disabled={busy}
        onClick={() => run.mutate({ params })}
      >
        Run now
      </Act>
      <Act call="cronUpdate" agent={job.agent} className="button small" onClick={onChange}>
        Change …
      </Act>
      <Act
        call="cronUpdate"
        agent={job.agent}
        className="button small"
        disabled={busy}
        onClick={() => change.mutate({ params, body: { enabled: !job.enabled } })}
      >
        {job.enabled ? 'Pause' : 'Resume'}
      </Act>
      <Act
        call="cronRemove"
        agent={job.agent}
        className="button small quiet"
        disabled={busy}
        onClick={() => remove.mutate({ params })}
      >
        Remove
      </Act>
      {children}
    </div>
  )
}
