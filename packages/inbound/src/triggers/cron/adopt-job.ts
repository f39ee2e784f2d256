import { scheduleKey, scheduleOf } from './cron-job.ts'
import type { CronJob, LiveJob, ReadCondition } from './cron-job.ts'
import type { CronTable } from './cron-table.ts'
import { dueAfter, planDues } from './plan-dues.ts'

/** The current jobs, and the time until which each job is accounted for: all its due times up to then have rows. */
export interface ScheduledJobs {
  readonly live: Map<string, LiveJob>
  /** By job id, the time until which the job is accounted for, as stored in the database over process restarts. */
  readonly accounted: Map<string, number>
  readonly table: CronTable
  readonly readCondition: ReadCondition
}

/** Replaces a job by its current version. Joins the caller's transaction. */
export function adoptJob(jobs: ScheduledJobs, job: CronJob, now: number): void {
  const { live, accounted, table } = jobs
  const before = live.get(job.id)
  const key = scheduleKey(job)
  const state = table.stateOf(job.id)
  const made: LiveJob = {
    job,
    schedule: scheduleOf(job),
    when: readWhen(jobs, job),
    nextDue: Infinity,
    heldUntil: null,
  }
  if (state?.scheduleKey !== key) {
    if (before) close(jobs, before, now)
    // If a job was changed while the mesh was down, its missed due times still count, unless it was disabled.
    const wasOn = state !== null && !state.scheduleKey.startsWith('[false')
    const until = !before && wasOn ? Math.min(now, state.accountedUntil) : now
    table.putState({ jobId: job.id, agentId: job.agent, scheduleKey: key, accountedUntil: until })
    accounted.set(job.id, until)
  } else if (!before) accounted.set(job.id, state.accountedUntil)
  made.nextDue = dueAfter(made, accounted.get(job.id) ?? now)
  live.set(job.id, made)
}

/** Records the due times of the old schedule that have no rows yet, before the new schedule replaces it (2). */
function close({ accounted, table }: ScheduledJobs, before: LiveJob, now: number): void {
  const { id } = before.job
  const after = accounted.get(id) ?? now
  const plan = planDues(before.schedule, { after, until: now, taken: table.taken(id, after, now) })
  if (!before.job.enabled || !plan) return
  const last = plan.fire === null ? [] : [{ first: plan.fire, last: plan.fire, count: 1, exact: true }]
  for (const { first, last: until, count, exact } of [...plan.missed, ...last]) {
    table.skip({
      jobId: id,
      dueAt: first,
      dueUntil: until,
      count,
      countExact: exact,
      reason: 'changed',
      detail: 'the job was changed before it was due',
      at: now,
    })
    table.countSkipped(id, count)
  }
}

function readWhen({ readCondition }: ScheduledJobs, job: CronJob): LiveJob['when'] {
  if (job.when === undefined) return null
  try {
    return readCondition(job.when)
  } catch (error) {
    return error instanceof Error ? error.message : 'the condition cannot be parsed'
  }
}
