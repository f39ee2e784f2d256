import type { FileEditor } from '../../config/index.ts'
import type { Kernel } from '../../kernel/index.ts'
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

/** The jobs there are, in their file and in time, with what became of them. Nothing is fired here. */
export interface CronJobs {
  readonly table: CronTable
  readonly file: CronFile
  readonly schedule: JobSchedule
  readonly heartbeatJobs: CronHeartbeatJobs
  readonly readCondition: ReadCondition
  /** With line and reason, why config/cron.json as it stands is not used, and what is instead; null while it is. */
  broken(): string | null
  /** Writes what `change` makes of the jobs; from then on these are due. Problem `unprocessable`. */
  edit(change: Parameters<CronFile['edit']>[0]): Promise<void>
  /** An agent that is deleted takes its jobs along, and those that it made for others. Idempotent. Problem `unprocessable`. */
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
      log.error({ detail }, 'config/cron.json is broken; the jobs of the last whole one go on'),
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
      log.warn(
        { jobId: job.id, correction },
        'a job in config/cron.json holds otherwise than it is written there; the correction says how',
      )
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
      if (file.jobs().length > 0) return `${broken}; the jobs before go on`
      return `${broken}; ${schedule.standIn() ? "but for the operator's heartbeat, " : ''}no job runs until it is mended`
    },
    edit,
    // What stands on the disk counts: a hand may have written a job that nobody has read yet.
    forget: (agentId) =>
      edit((jobs) =>
        jobs.filter(
          (job) =>
            isOperatorHeartbeat(job) || (job.agent !== agentId && job.created_by !== `agent:${agentId}`),
        ),
      ),
  }
}

/** A mesh that starts has no earlier jobs to go on with: what a hand did to the heartbeat meanwhile is put right. */
async function putHeartbeatBack(
  { log, journal }: Pick<Kernel, 'log' | 'journal'>,
  file: CronFile,
): Promise<void> {
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
