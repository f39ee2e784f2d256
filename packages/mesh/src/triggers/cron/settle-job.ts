import { tellOfJob } from './tell-of-job.ts'
import { wireLimits } from '@flotilla/protocol/limits'
import type { SettledRun } from '../../kernel/hooks.ts'
import type { CronJob } from './cron-job.ts'
import { modeOf } from './cron-job.ts'
import type { CronRow, CronTable } from './cron-table.ts'
import type { CronWorld } from './cron-world.ts'
import { isQuietReply } from './quiet-reply.ts'

/** Failures in a row after which the owner is told, once until the job works again. */
export const failuresToldAt = 3

export type SettleJob = (row: CronRow, run: SettledRun) => void

/**
 * Writes how a fired due time ended. Joins the transaction of the run's settlement and never throws for what is only
 * told: the answer to a job that a person made is a note, unless it says nothing (`suppress_empty`); the row has it always.
 */
export function createSettleJob(deps: {
  readonly world: Pick<CronWorld, 'note' | 'events' | 'log'>
  readonly table: CronTable
  readonly find: (jobId: string) => CronJob | null
}): SettleJob {
  const { world, table, find } = deps

  function note(job: CronJob, message: string, key: string): void {
    try {
      const text = message.length > wireLimits.notifyMaxChars ? cut(message) : message
      world.note(job.agent, text, key)
    } catch (error) {
      world.log.warn({ jobId: job.id, err: error }, 'the owner was not told of a job')
    }
  }

  return (row, run) => {
    const outcome = run.outcome ?? { status: run.state, text: '' }
    const failed = outcome.status === 'failed' || outcome.status === 'expired'
    const job = find(row.jobId)
    const isMessage = run.kind === 'chat'
    const quiet = isMessage && outcome.status === 'done' && isQuietReply(outcome.text)
    const hushed = quiet && job?.suppress_empty !== false
    if (!table.settle(row.seq, { outcome: outcome.status, text: outcome.text, quiet: hushed })) return
    table.countEnd(row.jobId, {
      outcome: outcome.status,
      text: outcome.text,
      failed,
      done: outcome.status === 'done',
    })
    if (!job) return
    const action = failed ? 'error' : 'executed'
    tellOfJob(world.events, job, { action, detail: hushed ? '' : outcome.text })
    const inRow = table.stateOf(job.id)?.failedInRow ?? 0
    if (failed && inRow === failuresToldAt) {
      note(
        job,
        `Job ${job.id} failed ${inRow} times in a row: ${outcome.text}\nflotilla cron why ${job.id}`,
        `cron:${row.seq}:failing`,
      )
    }
    const forPerson = isMessage && modeOf(job) === 'message' && !job.created_by.startsWith('agent:')
    if (forPerson && outcome.status === 'done' && !hushed && outcome.text.trim() !== '')
      note(job, outcome.text, `cron:${row.seq}`)
  }
}

function cut(text: string): string {
  return `${text.slice(0, wireLimits.notifyMaxChars - 2)} …`
}
