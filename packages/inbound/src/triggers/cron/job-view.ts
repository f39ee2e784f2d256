import type { CronJobView, CronRowView } from '@flotilla/protocol/cron-api'
import { correctionOf } from './cron-file.ts'
import { modeOf } from './cron-job.ts'
import type { CronRow, CronState } from './cron-table.ts'
import type { LiveJob } from './cron-job.ts'
import { isLate, formatRow } from './format-row.ts'

/** Returns the job in the form of the API. Pure. */
export function jobView(live: LiveJob, state: CronState | null): CronJobView {
  const { job, when, nextDue } = live
  const wrongCondition = typeof when === 'string' ? `the condition of the job cannot be parsed: ${when}` : ''
  return {
    id: job.id,
    agent: job.agent,
    mode: modeOf(job),
    schedule: job.schedule,
    timezone: job.timezone,
    enabled: job.enabled,
    suppress_empty: job.suppress_empty,
    heartbeat: job.heartbeat,
    message: job.message ?? null,
    tool_name: job.tool_name ?? null,
    tool_params: job.tool_params ?? null,
    when: job.when ?? null,
    created_by: job.created_by,
    created_at: job.created_at,
    next_run: Number.isFinite(nextDue) ? nextDue : null,
    last_run: state?.lastFiredAt ?? null,
    last_outcome: state?.lastOutcome ?? null,
    run_count: state?.fired ?? 0,
    skip_count: state?.skipped ?? 0,
    error_count: state?.failed ?? 0,
    errors_in_row: state?.failedInRow ?? 0,
    note: [correctionOf(job), wrongCondition].filter((text) => text !== '').join('; '),
  }
}

export function rowView(row: CronRow): CronRowView {
  return {
    due_at: row.dueAt,
    due_until: row.dueUntil,
    count: row.count,
    count_exact: row.countExact,
    state: row.state,
    skipped_because: row.state === 'skipped' ? row.reason : null,
    detail: row.detail,
    manual: row.manual,
    at: row.decidedAt,
    late_ms: row.lateMs,
    late: isLate(row),
    run_id: row.runId,
    outcome: row.outcome,
    text: row.text,
    quiet: row.quiet,
    words: formatRow(row),
  }
}
