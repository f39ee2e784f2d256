import { wireLimits } from '@flotilla/protocol/limits'
import type { SettledRun } from '@flotilla/work/events'
import type { CronJob } from './cron-job.ts'
import { modeOf } from './cron-job.ts'
import type { CronRow, CronTable } from './cron-table.ts'
import type { CronDeps } from './cron-deps.ts'
import { publishJobEvent } from './publish-job-event.ts'
import { isQuietReply } from './quiet-reply.ts'

/** After this many consecutive failures the owner is notified, once until the job succeeds again. */
const failuresToldAt = 3

export type SettleJob = (row: CronRow, run: SettledRun) => void

/**
 * Records the end of a fired due time. Joins the transaction that settles the run and does not
 * throw for failed notifications. The answer to a person's job becomes a note, unless it reports
 * nothing (`suppress_empty`). The row always stores the answer.
 */
export function createSettleJob({
  deps,
  table,
  find,
}: {
  readonly deps: Pick<CronDeps, 'kernel' | 'note'>
  readonly table: CronTable
  readonly find: (jobId: string) => CronJob | null
}): SettleJob {
  const { events, log } = deps.kernel

  function note(job: CronJob, message: string, key: string): void {
    try {
      const text = message.length > wireLimits.notifyMaxChars ? cut(message) : message
      deps.note(job.agent, text, key)
    } catch (error) {
      log.warn(
        { jobId: job.id, agentId: job.agent, err: error },
        'failed to notify the owner of the end of a cron job; its history shows it',
      )
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
    publishJobEvent(events, job, { action, detail: hushed ? '' : outcome.text })
    const inRow = table.stateOf(job.id)?.failedInRow ?? 0
    if (failed && inRow === failuresToldAt) {
      note(
        job,
        `Job ${job.id} failed ${inRow} times in a row: ${outcome.text}\nTo see why: flotilla cron why ${job.id}`,
        `cron:${row.seq}:failing`,
      )
    }
    const forPerson = isMessage && modeOf(job) === 'message' && !job.created_by.startsWith('agent:')
    if (forPerson && outcome.status === 'done' && !hushed && outcome.text.trim() !== '')
      note(job, outcome.text, `cron:${row.seq}`)
  }
}

/** Returns a function that settles the row of a job's run. A heartbeat run may have a person's origin. */
export function settleOfRun(table: Pick<CronTable, 'byRun'>, settle: SettleJob): (run: SettledRun) => void {
  return (run) => {
    if (run.origin.kind !== 'cron' && run.kind !== 'heartbeat') return
    const row = table.byRun(run.id)
    if (row) settle(row, run)
  }
}

function cut(text: string): string {
  return `${text.slice(0, wireLimits.notifyMaxChars - 2)} …`
}
