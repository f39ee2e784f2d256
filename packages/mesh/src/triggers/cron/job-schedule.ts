import type { JsonValue } from '@flotilla/protocol/json-value'
import type { Kernel } from '../../kernel/index.ts'
import { nextDue } from './cron-schedule.ts'
import type { Schedule } from './cron-schedule.ts'
import { scheduleKey, scheduleOf } from './cron-job.ts'
import type { CronJob, ReadCondition } from './cron-job.ts'
import type { CronTable } from './cron-table.ts'
import { dueBetween } from './due-times.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { planDues } from './plan-dues.ts'

/** A job with what is worked out from it once. */
export interface LiveJob {
  readonly job: CronJob
  readonly schedule: Schedule
  /** Null where it has no condition; a text where it cannot be understood. */
  readonly when: ((payload: JsonValue) => boolean) | string | null
  /** Milliseconds since 1970; infinite for a job that is off or never comes again. A number and no timer. */
  nextDue: number
  /** While a pause holds `nextDue`: the due time after it, when there is something to write down again. Else null. */
  heldUntil: number | null
}

/** Backward steps of a clock that are smaller change nothing, milliseconds. */
const steadyMs = 1000

/**
 * The jobs that are there now, with the moment at which each is next due.
 *
 * 1. Every due time up to a job's `accountedUntil` has its row; nothing is looked for before it.
 * 2. A job whose schedule changes has rows for what was due before, and counts from then on.
 * 3. Where the clock was set back, what was let pass in the time to come is forgotten, for it comes again; what fired
 *    there keeps its row, and does not fire twice.
 */
export interface JobSchedule {
  all(): Iterable<LiveJob>
  find(jobId: string): LiveJob | null
  /** Takes the jobs of the file as they are now. */
  adopt(jobs: readonly CronJob[]): void
  /** The operator's heartbeat, where the file has none that is used; null otherwise. */
  standIn(): CronJob | null
  /** It comes beside the jobs of the file until that has one. */
  keepStandIn(job: CronJob): void
  /** Every due time until then has its row. Joins the caller's transaction. */
  account(live: LiveJob, until: number): void
  /** A pause holds that due time: it is still to come, and all before it have their rows. Joins the caller's transaction. */
  hold(live: LiveJob, dueAt: number): void
  /** Looks at the clock; to be called before due times are. */
  noticeTime(): void
  accountedUntil(jobId: string): number
}

export function createJobSchedule(
  deps: Pick<Kernel, 'database' | 'clock' | 'log'> & { readonly readCondition: ReadCondition },
  table: CronTable,
): JobSchedule {
  const { database, clock, log } = deps
  const live = new Map<string, LiveJob>()
  /** Of this life and the ones before, as the database has it. */
  const accounted = new Map<string, number>()
  let adoptedOnce = false
  let lastSeen = -Infinity
  let standIn: CronJob | null = null

  function account(one: LiveJob, until: number): void {
    table.account(one.job.id, until)
    accounted.set(one.job.id, until)
    one.nextDue = dueAfter(one, until)
    one.heldUntil = null
  }

  /** What an old schedule still owes gets its row before the new one takes its place (2). */
  function close(before: LiveJob, now: number): void {
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

  function adoptOne(job: CronJob, now: number): void {
    const before = live.get(job.id)
    const key = scheduleKey(job)
    const state = table.stateOf(job.id)
    const made: LiveJob = {
      job,
      schedule: scheduleOf(job),
      when: readWhen(job),
      nextDue: Infinity,
      heldUntil: null,
    }
    if (state?.scheduleKey !== key) {
      if (before) close(before, now)
      // Changed while the mesh was down: what was due since is not lost, but a job that was off had nothing due.
      const wasOn = state !== null && !state.scheduleKey.startsWith('[false')
      const until = !before && wasOn ? Math.min(now, state.accountedUntil) : now
      table.putState({ jobId: job.id, agentId: job.agent, scheduleKey: key, accountedUntil: until })
      accounted.set(job.id, until)
    } else if (!before) accounted.set(job.id, state.accountedUntil)
    made.nextDue = dueAfter(made, accounted.get(job.id) ?? now)
    live.set(job.id, made)
  }

  function readWhen(job: CronJob): LiveJob['when'] {
    if (job.when === undefined) return null
    try {
      return deps.readCondition(job.when)
    } catch (error) {
      return error instanceof Error ? error.message : 'it cannot be understood'
    }
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
      database.transaction(() => adoptOne(job, clock.now()))
    },
    adopt(ofFile) {
      const now = clock.now()
      if (ofFile.some(isOperatorHeartbeat)) standIn = null
      const jobs = standIn ? [...ofFile.filter(({ id }) => id !== standIn?.id), standIn] : ofFile
      const ids = new Set(jobs.map(({ id }) => id))
      database.transaction(() => {
        for (const job of jobs) {
          const before = live.get(job.id)
          if (before && JSON.stringify(before.job) === JSON.stringify(job)) continue
          try {
            adoptOne(job, now)
          } catch (error) {
            log.error(
              { jobId: job.id, err: error },
              'job could not be scheduled; it is left out until it is changed',
            )
          }
        }
        // Jobs that nobody has in mind any more, of earlier lives too, take their rows with them.
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
            'clock was set back; skips in the time to come are forgotten, what fired there stays',
          )
          database.transaction(() => ahead.forEach((one) => rewind(one, now)))
        }
      }
      lastSeen = now
    },
  }
}

function dueAfter({ job, schedule }: LiveJob, after: number): number {
  return job.enabled ? (nextDue(schedule, after) ?? Infinity) : Infinity
}
