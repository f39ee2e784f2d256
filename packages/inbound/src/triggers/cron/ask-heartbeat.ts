import type { Caller } from '@flotilla/identity/access'
import type { CronJob } from './cron-job.ts'
import type { CronRow } from './cron-table.ts'
import { publishJobEvent } from './publish-job-event.ts'
import { obstacleOfError, recordFired } from './record-firing.ts'
import type { Firing, Obstacle } from './record-firing.ts'

interface Asked {
  readonly job: CronJob
  /** The row in state `firing`. After a crash, the next start of the mesh resumes it. */
  readonly row: CronRow
  readonly askedBy?: Caller
}

/** Requests the heartbeat of a row in state `firing`; `idle` waits for the request. Rejects if the request failed. */
export function askHeartbeat(firing: Firing, request: Asked): Promise<void> {
  const work = ask(firing, request)
  const tracked = work
    .catch((error: unknown) =>
      firing.deps.kernel.log.warn(
        { jobId: request.job.id, agentId: request.job.agent, err: error },
        'failed to fire a heartbeat; retrying at its next due time',
      ),
    )
    .finally(() => firing.asking.delete(tracked))
  firing.asking.add(tracked)
  return work
}

async function ask(firing: Firing, { job, row, askedBy }: Asked): Promise<void> {
  const { deps } = firing
  const { dueAt, manual } = row
  const due = { manual, jobId: job.id, dueAt, ...(askedBy ? { askedBy } : {}) }
  const answer = await deps.fireHeartbeat(job.agent, due).catch((error: unknown) => ({ failed: error }))
  deps.kernel.database.transaction(() => {
    if ('fired' in answer) return recordFired(firing, { job, row, run: answer.fired })
    const obstacle: Obstacle =
      'failed' in answer ? obstacleOfError(answer.failed) : { reason: 'heartbeat', detail: answer.skipped }
    recordNotFired(firing, { job, row }, obstacle)
  })
  if ('failed' in answer) throw answer.failed
}

function recordNotFired(
  { deps, jobs: { table } }: Firing,
  { job, row }: Asked,
  { reason, detail }: Obstacle,
): void {
  table.markSkipped(row.seq, reason, detail)
  table.countSkipped(job.id, 1)
  publishJobEvent(deps.kernel.events, job, { action: 'skipped', detail })
}
