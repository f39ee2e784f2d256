import type { JsonObject } from '@flotilla/protocol/json-value'
import { modeOf } from './cron-job.ts'
import type { CronJob } from './cron-job.ts'
import type { CronState } from './cron-table.ts'
import { zoneOffsetMs } from './zone-offset.ts'

const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/**
 * What a `when` can ask: `now` is the due time on the clock of the job's zone, `last` how its last run ended. Pure.
 */
export function conditionPayload(job: CronJob, dueAt: number, state: CronState | null): JsonObject {
  const local = new Date(dueAt + zoneOffsetMs(job.timezone, dueAt))
  const weekday = local.getUTCDay()
  return {
    now: {
      iso: new Date(dueAt).toISOString(),
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
      hour: local.getUTCHours(),
      minute: local.getUTCMinutes(),
      weekday: weekdays[weekday] ?? '',
      weekend: weekday === 0 || weekday === 6,
    },
    job: { id: job.id, agent: job.agent, mode: modeOf(job), runs: state?.fired ?? 0 },
    last: {
      outcome: state?.lastOutcome ?? 'none',
      text: state?.lastText ?? '',
      errors_in_row: state?.failedInRow ?? 0,
    },
  }
}
