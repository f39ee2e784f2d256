import type { Kernel } from '../../kernel/index.ts'
import type { CronJob } from './cron-job.ts'
import type { CronJobs } from './cron-jobs.ts'
import { publishJobEvent } from './publish-job-event.ts'

/** Ids that one note names; the others are counted. */
const toldIdsMax = 10

/** The person in whose name a job is kept; null for agents, files and whoever has no name among people. Pure. */
export function personWhoMade({ created_by: by }: Pick<CronJob, 'created_by'>): string | null {
  return /^human:([^@]+)@/.exec(by)?.[1] ?? null
}

/**
 * Nobody answers for the jobs of one who is nobody here any more: they are switched off, which the journal and the owner are
 * told. Whoever switches one on again answers for it. Idempotent. Problem `unprocessable` where the file is broken; even
 * then none fires, since a job does no more than its maker may.
 */
export async function switchOffJobsOf(
  kernel: Pick<Kernel, 'database' | 'journal' | 'events' | 'hooks'>,
  jobs: Pick<CronJobs, 'edit'>,
  name: string,
): Promise<void> {
  let off: readonly CronJob[] = []
  const isTheirs = (job: CronJob) => job.enabled && !job.heartbeat && personWhoMade(job) === name
  await jobs.edit((now) => {
    off = now.filter(isTheirs)
    return now.map((job) => (isTheirs(job) ? { ...job, enabled: false } : job))
  })
  const reason = `${name}, who made it, is nobody here any more`
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
      const ids = theirs.slice(0, toldIdsMax).map(({ id }) => id)
      const more = theirs.length > ids.length ? ` and ${theirs.length - ids.length} more` : ''
      kernel.hooks.ownerTold.tell({
        agentId,
        message: `${name} is nobody here any more, so what they had made by the clock is switched off: ${ids.join(', ')}${more}. Look at flotilla cron list; whoever switches one on again answers for it.`,
      })
    }
  })
}

/** What was left by people who were removed while the mesh was down. */
export async function switchOffJobsOfNobody(
  kernel: Pick<Kernel, 'database' | 'journal' | 'events' | 'hooks'>,
  jobs: Pick<CronJobs, 'edit' | 'file'>,
): Promise<void> {
  const makers = new Set(jobs.file.jobs().flatMap((job) => (job.enabled ? (personWhoMade(job) ?? []) : [])))
  for (const name of makers) {
    if (kernel.hooks.personOf.ask(name).length === 0) await switchOffJobsOf(kernel, jobs, name)
  }
}
