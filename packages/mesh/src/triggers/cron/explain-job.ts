import { formatActor } from '@flotilla/protocol/format-actor'
import { correctionOf } from './cron-file.ts'
import type { CronRow, CronState } from './cron-table.ts'
import type { LiveJob } from './cron-job.ts'
import { formatDuration, formatRow, stamp } from './format-row.ts'

/** Explains in sentences why a job did or did not fire: first the current state, then its rows. Pure. */
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
    ...(typeof live.when === 'string' ? [`Its condition cannot be parsed: ${live.when}.`] : []),
    ...((state?.failedInRow ?? 0) > 0 ? [`Its last ${state?.failedInRow ?? 0} runs failed.`] : []),
    ...(rows.length === 0 ? ['It has not been due yet.'] : rows.map(formatRow)),
  ]
}

function formatNextDue({ job, nextDue, heldUntil }: LiveJob, now: number): string {
  if (!job.enabled) return 'It is paused, so it is never due; a manual run still works.'
  if (!Number.isFinite(nextDue)) return 'It is never due again.'
  if (nextDue <= now && heldUntil !== null)
    return `It has been due since ${stamp(nextDue)} and fires once when the pause of its agent ends.`
  if (nextDue <= now) return `It has been due since ${stamp(nextDue)} and fires with one of the next ticks.`
  return `Next due ${stamp(nextDue)}, in ${formatDuration(nextDue - now)}.`
}
