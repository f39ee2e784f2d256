import { formatActor } from '@flotilla/protocol/format-actor'
import { correctionOf } from './cron-file.ts'
import type { CronRow, CronState } from './cron-table.ts'
import type { LiveJob } from './cron-job.ts'
import { formatDuration, formatRow, stamp } from './format-row.ts'

/** Returns sentences about why a job did or did not fire: first the current state, then its rows. Pure. */
export function explainJob(
  live: LiveJob,
  { state, rows, now }: { state: CronState | null; rows: readonly CronRow[]; now: number },
): string[] {
  const { job } = live
  const zone =
    job.timezone === 'UTC' || /^every/i.test(job.schedule) ? 'UTC' : `${job.timezone}, shown here in UTC`
  const correction = correctionOf(job)
  return [
    `Job ${job.id} of ${job.agent}: ${job.schedule} (${zone}), made by ${formatActor(job.created_by)}.`,
    formatNextDue(live, now),
    ...(correction === '' ? [] : [`Note: ${correction}.`]),
    ...(typeof live.when === 'string' ? [`The condition of the job cannot be parsed: ${live.when}.`] : []),
    ...((state?.failedInRow ?? 0) > 0 ? [`The last ${state?.failedInRow ?? 0} runs of the job failed.`] : []),
    ...(rows.length === 0 ? ['The job has not been due yet.'] : rows.map(formatRow)),
  ]
}

function formatNextDue({ job, nextDue, heldUntil }: LiveJob, now: number): string {
  if (!job.enabled) return 'The job is paused, so it is never due. To run it by hand: flotilla cron run JOB'
  if (!Number.isFinite(nextDue)) return 'The job is never due again.'
  if (nextDue <= now && heldUntil !== null)
    return `The job has been due since ${stamp(nextDue)} and fires once when the pause of its agent ends.`
  if (nextDue <= now) return `The job has been due since ${stamp(nextDue)} and fires within seconds.`
  return `Next due ${stamp(nextDue)}, in ${formatDuration(nextDue - now)}.`
}
