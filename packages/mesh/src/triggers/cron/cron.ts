import type { SettledRun } from '../../kernel/index.ts'
import type { CronDeps } from './cron-deps.ts'
import type { CronJobs } from './cron-jobs.ts'
import { createCronTicker } from './cron-ticker.ts'
import type { CronTicker } from './cron-ticker.ts'
import { createFireJob } from './fire-job.ts'
import { createManageCron } from './manage-cron.ts'
import type { ManageCron } from './manage-cron.ts'
import { createSettleJob } from './settle-job.ts'

/**
 * Jobs that set agents to work by the clock. It is there, and answers, before anything ticks; `run` begins with what
 * became due while the mesh was down.
 */
export interface Cron extends ManageCron, CronTicker {
  /** To be told of every settled run, in its transaction. */
  readonly runSettled: (run: SettledRun) => void
}

export function createCron(deps: CronDeps, jobs: CronJobs): Cron {
  const { table, schedule } = jobs
  const settle = createSettleJob({ deps, table, find: (jobId) => schedule.find(jobId)?.job ?? null })
  const fire = createFireJob({ deps, jobs, settle })
  return {
    ...createManageCron({ deps, jobs, fire }),
    ...createCronTicker({ deps, jobs, fire }),
    runSettled: (run) => {
      // A heartbeat that a person asked for is that person's run.
      if (run.origin.kind !== 'cron' && run.kind !== 'heartbeat') return
      const row = table.byRun(run.id)
      if (row) settle(row, run)
    },
  }
}
