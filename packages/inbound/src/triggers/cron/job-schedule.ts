import type { Kernel } from '@flotilla/identity/kernel'
import { adoptJob } from './adopt-job.ts'
import type { ScheduledJobs } from './adopt-job.ts'
import type { CronJob, LiveJob, ReadCondition } from './cron-job.ts'
import type { CronTable } from './cron-table.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { dueAfter, dueBetween } from './plan-dues.ts'

/** By how much the clock may be set back without effect, in milliseconds. */
const steadyMs = 1000

/**
 * The current jobs with their next due times.
 *
 * 1. All due times up to a job's `accountedUntil` have rows; earlier times are not searched.
 * 2. A job whose schedule changes has rows for earlier due times and counts from the change on.
 * 3. If the clock was set back, skips in the future are deleted, because those times come again.
 * Firings at future times keep their rows and do not fire twice.
 */
export interface JobSchedule {
  all(): Iterable<LiveJob>
  find(jobId: string): LiveJob | null
  /** Replaces the current jobs by the jobs of the file. */
  adopt(jobs: readonly CronJob[]): void
  /** Returns the operator's heartbeat in memory, if the file has no valid one; otherwise null. */
  standIn(): CronJob | null
  /** Adds the operator's heartbeat until the file contains it. */
  keepStandIn(job: CronJob): void
  /** Marks all due times up to `until` as recorded. Joins the caller's transaction. */
  account(live: LiveJob, until: number): void
  /** Defers a due time during a pause: it stays due, and earlier ones have rows. Joins the caller's transaction. */
  hold(live: LiveJob, dueAt: number): void
  /** Detects a clock that was set back. Must be called before due times are read. */
  noticeTime(): void
  accountedUntil(jobId: string): number
}

export function createJobSchedule(
  deps: Pick<Kernel, 'database' | 'clock' | 'log'> & { readonly readCondition: ReadCondition },
  table: CronTable,
): JobSchedule {
  const { database, clock, log, readCondition } = deps
  const jobs: ScheduledJobs = { live: new Map(), accounted: new Map(), table, readCondition }
  const { live, accounted } = jobs
  let adoptedOnce = false
  let lastSeen = -Infinity
  let standIn: CronJob | null = null

  function account(one: LiveJob, until: number): void {
    const { nextDue, heldUntil } = one
    const before = accounted.get(one.job.id)
    // If the transaction fails, the due time counts as unrecorded in memory too.
    database.afterRollback(() => {
      if (before !== undefined) accounted.set(one.job.id, before)
      Object.assign(one, { nextDue, heldUntil })
    })
    table.account(one.job.id, until)
    accounted.set(one.job.id, until)
    one.nextDue = dueAfter(one, until)
    one.heldUntil = null
  }

  function rewind(one: LiveJob, now: number): void {
    const { id } = one.job
    for (const row of table.skippedBeyond(id, now)) {
      table.countSkipped(id, -row.count)
      const kept = row.dueAt > now ? null : dueBetween(one.schedule, row.dueAt - 1, now)
      if (!kept) table.deleteRow(row.seq)
      else {
        const count = (kept.missed?.count ?? 0) + 1
        table.cutSkip(row.seq, { dueUntil: kept.latest, count, countExact: kept.missed?.exact ?? true })
        table.countSkipped(id, count)
      }
    }
    account(one, now)
  }

  return {
    all: () => live.values(),
    find: (jobId) => live.get(jobId) ?? null,
    account,
    hold(one, dueAt) {
      account(one, dueAt - 1)
      one.heldUntil = dueAfter(one, dueAt)
    },
    accountedUntil: (jobId) => accounted.get(jobId) ?? clock.now(),
    standIn: () => standIn,
    keepStandIn(job) {
      standIn = job
      database.transaction(() => adoptJob(jobs, job, clock.now()))
    },
    adopt(ofFile) {
      const now = clock.now()
      if (ofFile.some(isOperatorHeartbeat)) standIn = null
      const scheduled = standIn ? [...ofFile.filter(({ id }) => id !== standIn?.id), standIn] : ofFile
      const ids = new Set(scheduled.map(({ id }) => id))
      database.transaction(() => {
        for (const job of scheduled) {
          const before = live.get(job.id)
          if (before && JSON.stringify(before.job) === JSON.stringify(job)) continue
          try {
            adoptJob(jobs, job, now)
          } catch (error) {
            log.error(
              { jobId: job.id, err: error },
              'failed to schedule a cron job; ignoring it until it is changed',
            )
          }
        }
        // Deletes the rows of jobs that no longer exist, including jobs of earlier processes.
        const gone = adoptedOnce ? [...live.keys()] : table.states().map(({ jobId }) => jobId)
        for (const jobId of gone.filter((known) => !ids.has(known))) {
          live.delete(jobId)
          accounted.delete(jobId)
          table.forget(jobId)
        }
      })
      adoptedOnce = true
    },
    noticeTime() {
      const now = clock.now()
      const first = lastSeen === -Infinity
      if (first || now < lastSeen - steadyMs) {
        const ahead = [...live.values()].filter(({ job }) => (accounted.get(job.id) ?? now) > now)
        if (ahead.length > 0) {
          log.warn(
            { jobs: ahead.length, backMs: first ? null : lastSeen - now },
            'the clock was set back; fired due times stay recorded, skipped ones are due again',
          )
          database.transaction(() => ahead.forEach((one) => rewind(one, now)))
        }
      }
      lastSeen = now
    },
  }
}
