import type { Caller } from '@flotilla/identity/access'
import { askHeartbeat } from './ask-heartbeat.ts'
import type { CronJob, LiveJob } from './cron-job.ts'
import type { CronRow } from './cron-table.ts'
import { submitJob } from './fire-job.ts'
import { beginRowByHand, recordFired } from './record-firing.ts'
import type { Firing } from './record-firing.ts'

/**
 * Starts a manual run, which ignores schedule, condition, overlap, pause, a full lane and
 * `enabled`. On failure the caller gets the Problems of `submitRun`, and the row records them.
 */
export type FireByHand = (live: LiveJob, askedBy: Caller) => Promise<CronRow>

export function createFireByHand(firing: Firing): FireByHand {
  return async ({ job }, askedBy) =>
    job.heartbeat ? heartbeatByHand(firing, job, askedBy) : submitByHand(firing, job)
}

async function heartbeatByHand(firing: Firing, job: CronJob, askedBy: Caller): Promise<CronRow> {
  const { clock, database } = firing.deps.kernel
  const row = database.transaction(() => beginRowByHand(firing, job, clock.now()))
  await askHeartbeat(firing, { job, row, askedBy })
  return firing.jobs.table.bySeq(row.seq) ?? row
}

function submitByHand(firing: Firing, job: CronJob): CronRow {
  const { clock, database } = firing.deps.kernel
  const now = clock.now()
  return database.transaction(() => {
    const waiting = waitingByHand(firing, job)
    if (waiting) return waiting
    const row = beginRowByHand(firing, job, now)
    const key = `cron:${job.id}:by-hand:${row.seq}`
    const run = submitJob(firing, job, { dueAt: now, key, requestedByPerson: true })
    recordFired(firing, { job, row, run })
    return firing.jobs.table.bySeq(row.seq) ?? row
  })
}

/** If the lane is full, returns the job's waiting manual run, or else null. One manual run may wait at its head. */
function waitingByHand({ deps: { runs }, jobs }: Firing, job: CronJob): CronRow | null {
  if (!runs.isLaneFull({ agentId: job.agent, proactive: false })) return null
  const isWaiting = ({ manual, runId }: CronRow): boolean =>
    manual && runId !== null && runs.find(runId)?.state === 'queued'
  return jobs.table.openOf(job.id).findLast(isWaiting) ?? null
}
