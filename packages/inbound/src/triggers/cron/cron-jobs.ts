import type { FileEditor } from '@flotilla/foundation/config'
import type { Kernel } from '@flotilla/identity/kernel'
import { correctionOf, createCronFile } from './cron-file.ts'
import type { CronFile } from './cron-file.ts'
import type { ReadCondition } from './cron-job.ts'
import { createCronTable } from './cron-table.ts'
import type { CronTable } from './cron-table.ts'
import { createHeartbeatJobs } from './heartbeat-jobs.ts'
import type { CronHeartbeatJobs } from './heartbeat-jobs.ts'
import { createJobSchedule } from './job-schedule.ts'
import type { JobSchedule } from './job-schedule.ts'
import { isOperatorHeartbeat } from './operator-heartbeat.ts'

/** The jobs: their file, schedule and history. This module does not fire them. */
export interface CronJobs {
  readonly table: CronTable
  readonly file: CronFile
  readonly schedule: JobSchedule
  readonly heartbeatJobs: CronHeartbeatJobs
  readonly readCondition: ReadCondition
  /** Returns why config/cron.json is not used, with line and reason, and what is used instead; null if valid. */
  broken(): string | null
  /** Writes the jobs that `change` returns and schedules them. Throws Problem `unprocessable`. */
  edit(change: Parameters<CronFile['edit']>[0]): Promise<void>
  /**
   * Removes the jobs of a deleted agent, and jobs that the agent made for others. Idempotent.
   * Throws Problem `unprocessable`.
   */
  forget(agentId: string): Promise<void>
}

export async function createCronJobs(
  deps: Pick<Kernel, 'database' | 'clock' | 'newId' | 'log' | 'journal'> & {
    readonly path: string
    readonly editor: FileEditor
    readonly readCondition: ReadCondition
  },
): Promise<CronJobs> {
  const { log, readCondition } = deps
  const table = createCronTable(deps.database)
  const file = createCronFile({
    path: deps.path,
    editor: deps.editor,
    onBroken: (detail) =>
      log.error({ detail }, 'config/cron.json is invalid; using the jobs of the last valid file'),
  })
  const schedule = createJobSchedule(deps, table)
  async function edit(change: Parameters<CronFile['edit']>[0]): Promise<void> {
    await file.edit(change)
    schedule.adopt(file.jobs())
  }
  await putHeartbeatBack(deps, file)
  await file.poll()
  if (file.broken() === null) schedule.adopt(file.jobs())
  for (const job of file.jobs()) {
    const correction = correctionOf(job)
    if (correction !== '')
      log.warn({ jobId: job.id, correction }, 'corrected a job of config/cron.json; see the correction')
  }

  return {
    table,
    file,
    schedule,
    heartbeatJobs: createHeartbeatJobs({ ...deps, file, schedule, edit }),
    readCondition,
    broken: () => {
      const broken = file.broken()
      if (broken === null) return null
      if (file.jobs().length > 0) return `${broken}; the previous jobs stay in force`
      return `${broken}; ${schedule.standIn() ? "except for the operator's heartbeat, " : ''}no job runs until the file is corrected`
    },
    edit,
    // Edits the file on disk, because the file may contain a job that was added by hand and not read yet.
    forget: (agentId) =>
      edit((jobs) =>
        jobs.filter(
          (job) =>
            isOperatorHeartbeat(job) || (job.agent !== agentId && job.created_by !== `agent:${agentId}`),
        ),
      ),
  }
}

/** Reverts changes by hand to the operator's heartbeat, because at start no earlier jobs can stay in force. */
async function putHeartbeatBack(
  { log, journal }: Pick<Kernel, 'log' | 'journal'>,
  file: CronFile,
): Promise<void> {
  try {
    const wrong = await file.putHeartbeatBack()
    if (wrong === null) return
    log.warn({ detail: wrong }, 'restored the operator’s heartbeat in config/cron.json')
    journal.append({
      actor: 'system',
      action: 'cron.heartbeat-put-back',
      subject: 'operator',
      detail: { reason: wrong },
    })
  } catch (error) {
    log.error(
      { err: error },
      'failed to restore the operator’s heartbeat in config/cron.json; it runs anyway',
    )
  }
}
