import type { SettledRun } from '../../kernel/hooks.ts'
import { createCronFile, correctionOf } from './cron-file.ts'
import type { CronFile } from './cron-file.ts'
import { createCronTable } from './cron-table.ts'
import { createCronTicker } from './cron-ticker.ts'
import type { CronTicker } from './cron-ticker.ts'
import type { CronWorld } from './cron-world.ts'
import { createFireJob } from './fire-job.ts'
import { createHeartbeatJobs } from './heartbeat-jobs.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'
import { createJobBoard } from './job-board.ts'
import { createManageCron } from './manage-cron.ts'
import type { ManageCron } from './manage-cron.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'
import { createSettleJob } from './settle-job.ts'

/**
 * Jobs that set agents to work by the clock. It is there, and answers, before anything ticks; `run` begins with what
 * became due while the mesh was down.
 */
export interface Cron extends ManageCron, CronTicker {
  readonly heartbeatJobs: HeartbeatJobs
  /** To be told of every settled run, in its transaction. */
  readonly runSettled: (run: SettledRun) => void
  /** With line and reason, why config/cron.json as it stands is not used, and what is instead; null while it is. */
  broken(): string | null
  /** Before an agent is deleted: its jobs cannot be taken from a file that is broken. Problem `unprocessable`. */
  requireWhole(): Promise<void>
  /** An agent that is deleted takes its jobs along, and those that it made for others. Idempotent. Problem `unprocessable`. */
  forget(agentId: string): Promise<void>
}

export async function createCron(world: CronWorld): Promise<Cron> {
  const { log } = world
  const table = createCronTable(world.database)
  const file = createCronFile({
    path: world.path,
    editor: world.editor,
    onBroken: (detail) => log.error({ detail }, 'jobs as they stand in the file are not used'),
  })
  const board = createJobBoard(world, table)
  const settle = createSettleJob({ world, table, find: (jobId) => board.find(jobId)?.job ?? null })
  const fire = createFireJob({ world, table, board, settle })
  const manage = createManageCron({ world, table, board, file, fire })
  const heartbeatJobs = createHeartbeatJobs({ world, file, board })
  const ticker = createCronTicker({ world, board, file, fire, changed: heartbeatJobs.writeStandIn })
  await putHeartbeatBack(world, file)
  await file.look()
  if (file.broken() === null) board.adopt(file.jobs())
  for (const job of file.jobs()) {
    const correction = correctionOf(job)
    if (correction !== '') log.warn({ jobId: job.id, correction }, 'a job is not kept as it is written')
  }

  return {
    ...manage,
    ...ticker,
    heartbeatJobs,
    broken: () => {
      const broken = file.broken()
      if (broken === null) return null
      if (file.jobs().length > 0) return `${broken}; the jobs before go on`
      return `${broken}; ${board.standIn() ? "but for the operator's heartbeat, " : ''}no job runs until it is mended`
    },
    runSettled: (run) => {
      // A heartbeat that a person asked for is that person's run.
      if (run.origin.kind !== 'cron' && run.kind !== 'heartbeat') return
      const row = table.byRun(run.id)
      if (row) settle(row, run)
    },
    requireWhole: file.requireWhole,
    async forget(agentId) {
      // What stands on the disk counts: a hand may have written a job that nobody has read yet.
      await file.edit((jobs) =>
        jobs.filter(
          (job) =>
            isOperatorHeartbeat(job) || (job.agent !== agentId && job.created_by !== `agent:${agentId}`),
        ),
      )
      board.adopt(file.jobs())
    },
  }
}

/** A mesh that starts has no earlier jobs to go on with: what a hand did to the heartbeat meanwhile is put right. */
async function putHeartbeatBack({ log, journal }: CronWorld, file: CronFile): Promise<void> {
  try {
    const wrong = await file.putHeartbeatBack()
    if (wrong === null) return
    log.warn({ detail: wrong }, "the operator's heartbeat was put back into the file as it has to be")
    journal.append({
      actor: 'system',
      action: 'cron.heartbeat-put-back',
      subject: 'operator',
      detail: { reason: wrong },
    })
  } catch (error) {
    log.error(
      { err: error },
      "the operator's heartbeat could not be put back into the file; it comes all the same",
    )
  }
}
