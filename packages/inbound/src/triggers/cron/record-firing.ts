import { isTerminal } from '@flotilla/protocol/run'
import { Problem } from '@flotilla/protocol/problem'
import type { RunRecord } from '@flotilla/work/runs'
import type { CronDeps } from './cron-deps.ts'
import type { CronJob } from './cron-job.ts'
import type { CronJobs } from './cron-jobs.ts'
import type { CronRow, SkipReason } from './cron-table.ts'
import type { DueStretch } from './plan-dues.ts'
import { publishJobEvent } from './publish-job-event.ts'
import type { SettleJob } from './settle-job.ts'

/** The parameters that all steps of a firing share. */
export interface Firing {
  readonly deps: CronDeps
  readonly jobs: Pick<CronJobs, 'table' | 'schedule'>
  readonly settle: SettleJob
  /** Heartbeat requests in progress. */
  readonly asking: Set<Promise<unknown>>
}

/** Why a due time is skipped. */
export interface Obstacle {
  readonly reason: SkipReason
  readonly detail: string
}

/** The reason for a due time that was skipped because a later due time has passed too. */
const passedBy: Obstacle = {
  reason: 'missed',
  detail:
    'the mesh could not fire the job at this time; of several missed due times, only the last one fires',
}

/** Records all due times before the one that fires. */
export function recordMissed(
  firing: Firing,
  job: CronJob,
  { missed, because = passedBy }: { readonly missed: readonly DueStretch[]; readonly because?: Obstacle },
): void {
  for (const due of missed) recordSkipped(firing, job, { due, because })
}

export function recordSkipped(
  { deps, jobs: { table } }: Firing,
  job: CronJob,
  { due, because: { reason, detail } }: { readonly due: DueStretch | number; readonly because: Obstacle },
): void {
  const { clock, events } = deps.kernel
  const { first, last, count, exact } =
    typeof due === 'number' ? { first: due, last: due, count: 1, exact: true } : due
  const row = { jobId: job.id, dueAt: first, dueUntil: last, count, countExact: exact }
  const begins = table.skip({ ...row, reason, detail, at: clock.now() })
  table.countSkipped(job.id, count)
  table.trim(job.id)
  // Consecutive skips for the same reason cause only one event.
  if (!begins) return
  const times = count > 1 ? `${exact ? '' : 'at least '}${count} due times: ` : ''
  publishJobEvent(events, job, { action: 'skipped', detail: times + detail })
}

/** Inserts a row in state `firing` and returns it; null if the due time already has a row. */
export function beginRow(
  { jobs: { table } }: Firing,
  job: CronJob,
  { dueAt, manual, at }: { readonly dueAt: number; readonly manual: boolean; readonly at: number },
): CronRow | null {
  const lateMs = Math.max(0, at - dueAt)
  if (!table.insertFiring({ jobId: job.id, dueAt, manual, at, lateMs })) return null
  return table.firingRow(job.id, dueAt, manual)
}

/** Inserts the row of a manual firing, which always succeeds, and returns the row. */
export function beginRowByHand(firing: Firing, job: CronJob, now: number): CronRow {
  const row = beginRow(firing, job, { dueAt: now, manual: true, at: now })
  if (!row) throw new Error('a manual row is always written')
  return row
}

export function recordFired(
  { deps, jobs: { table }, settle }: Firing,
  { job, row, run }: { readonly job: CronJob; readonly row: CronRow; readonly run: RunRecord },
): void {
  const { clock, events } = deps.kernel
  table.markFired(row.seq, run.id)
  table.countFired(job.id, clock.now())
  table.trim(job.id)
  publishJobEvent(events, job, { action: 'started', detail: run.id })
  const now = deps.runs.find(run.id) ?? run
  const written = table.bySeq(row.seq)
  if (written && isTerminal(now.state)) settle(written, now)
}

/** Returns the skip reason for a failed firing. Pure. */
export function obstacleOfError(error: unknown): Obstacle {
  return { reason: error instanceof Problem ? 'refused' : 'error', detail: detailOf(error) }
}

function detailOf(error: unknown): string {
  if (error instanceof Problem) return error.detail === '' ? error.code : `${error.code}: ${error.detail}`
  return error instanceof Error ? error.message : 'it failed'
}
