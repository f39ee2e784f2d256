import type { SettledRun } from '@flotilla/work/events'
import type { CronDeps } from './cron-deps.ts'
import type { CronJobs } from './cron-jobs.ts'
import { createCronTicker } from './cron-ticker.ts'
import type { CronTicker } from './cron-ticker.ts'
import { createFireByHand } from './fire-by-hand.ts'
import { createFireJob } from './fire-job.ts'
import { createManageCron } from './manage-cron.ts'
import type { ManageCron } from './manage-cron.ts'
import type { Firing } from './record-firing.ts'
import { createSettleJob, settleOfRun } from './settle-job.ts'

/**
 * The jobs that start agents by the clock. Calls are answered before the first tick; `run` begins
 * with the due times that were missed while the mesh was down.
 */
export interface Cron extends ManageCron, CronTicker {
  /** Must be called for every settled run, in its transaction. */
  readonly runSettled: (run: SettledRun) => void
}

export function createCron(deps: CronDeps, jobs: CronJobs): Cron {
  const { table, schedule } = jobs
  const settle = createSettleJob({ deps, table, find: (jobId) => schedule.find(jobId)?.job ?? null })
  const firing: Firing = { deps, jobs, settle, asking: new Set() }
  const fire = createFireJob(firing)
  return {
    ...createManageCron({ deps, jobs, fire, fireByHand: createFireByHand(firing) }),
    ...createCronTicker({ deps, jobs, fire }),
    runSettled: settleOfRun(table, settle),
  }
}
