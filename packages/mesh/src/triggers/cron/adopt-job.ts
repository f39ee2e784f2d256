import { scheduleKey, scheduleOf } from './cron-job.ts'
import type { CronJob, LiveJob, ReadCondition } from './cron-job.ts'
import type { CronTable } from './cron-table.ts'
import { dueAfter, planDues } from './plan-dues.ts'

/** The jobs that are there, and up to which moment all due times of each have their rows. */
export interface ScheduledJobs {
  readonly live: Map<string, LiveJob>
  /** Of this life and the ones before, as the database has it. */
  readonly accounted: Map<string, number>
  readonly table: CronTable
  readonly readCondition: ReadCondition
}

/** Puts a job as it is now into the place of the one before. In the caller's transaction. */
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
    // Changed while the mesh was down: what was due since is not lost, but a job that was off had nothing due.
    const wasOn = state !== null && !state.scheduleKey.startsWith('[false')
    const until = !before && wasOn ? Math.min(now, state.accountedUntil) : now
    table.putState({ jobId: job.id, agentId: job.agent, scheduleKey: key, accountedUntil: until })
    accounted.set(job.id, until)
  } else if (!before) accounted.set(job.id, state.accountedUntil)
  made.nextDue = dueAfter(made, accounted.get(job.id) ?? now)
  live.set(job.id, made)
}

/** What an old schedule still owes gets its row before the new one takes its place (2). */
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
      detail: 'the job was changed before it was its turn',
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
    return error instanceof Error ? error.message : 'it cannot be understood'
  }
}
