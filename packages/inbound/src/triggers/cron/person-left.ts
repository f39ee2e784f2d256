import type { CronJob } from './cron-job.ts'
import type { CronJobs } from './cron-jobs.ts'
import { publishJobEvent } from './publish-job-event.ts'
import type { WorkKernel } from '@flotilla/work/events'

/** How many ids a note lists. Further ids are only counted. */
const listedIdsMax = 10

/** Returns the person who made the job; null for agents, files and unnamed callers. Pure. */
export function personWhoMade({ created_by: by }: Pick<CronJob, 'created_by'>): string | null {
  return /^human:([^@]+)@/.exec(by)?.[1] ?? null
}

/**
 * Disables the jobs of a removed person, with an audit record and a note to the owner. The person who
 * enables a job again becomes its maker. Idempotent. Throws Problem `unprocessable` if the file is
 * broken. Even then none of these jobs fires, because a job never has more permissions than its maker.
 */
export async function switchOffJobsOf(
  kernel: Pick<WorkKernel, 'database' | 'journal' | 'events' | 'fleetEvents' | 'identityEvents'>,
  jobs: Pick<CronJobs, 'edit'>,
  name: string,
): Promise<void> {
  let off: readonly CronJob[] = []
  const isTheirs = (job: CronJob) => job.enabled && !job.heartbeat && personWhoMade(job) === name
  await jobs.edit((now) => {
    off = now.filter(isTheirs)
    return now.map((job) => (isTheirs(job) ? { ...job, enabled: false } : job))
  })
  const reason = `${name}, who created the job, was removed`
  kernel.database.transaction(() => {
    for (const job of off) {
      kernel.journal.append({
        actor: 'system',
        action: 'cron.paused',
        subject: job.id,
        detail: { agent: job.agent, reason },
      })
      publishJobEvent(kernel.events, job, { action: 'paused', detail: reason })
    }
    for (const [agentId, theirs] of Map.groupBy(off, ({ agent }) => agent)) {
      const ids = theirs.slice(0, listedIdsMax).map(({ id }) => id)
      const more = theirs.length > ids.length ? ` and ${theirs.length - ids.length} more` : ''
      kernel.fleetEvents.ownerNoticed.publish({
        agentId,
        message: `${name} was removed, so their cron jobs are disabled: ${ids.join(', ')}${more}. List the jobs with flotilla cron list. To enable one: flotilla cron set JOB --enable; you then own the job.`,
      })
    }
  })
}

/** Disables jobs of people who were removed while the mesh was down. */
export async function switchOffJobsOfNobody(
  kernel: Pick<WorkKernel, 'database' | 'journal' | 'events' | 'fleetEvents' | 'identityEvents'>,
  jobs: Pick<CronJobs, 'edit' | 'file'>,
): Promise<void> {
  const makers = new Set(jobs.file.jobs().flatMap((job) => (job.enabled ? (personWhoMade(job) ?? []) : [])))
  for (const name of makers) {
    if (kernel.identityEvents.personOf.ask(name).length === 0) await switchOffJobsOf(kernel, jobs, name)
  }
}
