import { cronRowStates } from '@flotilla/protocol/cron-api'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { createCronStates, textMaxChars } from './cron-states.ts'
import type { Change } from './cron-states.ts'

export type { CronState } from './cron-states.ts'

/** The number of rows kept per job, newest first. Rows of unfinished runs are kept in addition. */
const rowsPerJobMax = 200
/** The maximum length of a stored detail in the history of a job, in characters. */
const detailMaxChars = 500

/** Why a due time was skipped. */
export type SkipReason =
  | 'missed'
  | 'overlap'
  | 'condition'
  | 'paused'
  | 'maker'
  | 'heartbeat'
  | 'refused'
  | 'changed'
  | 'error'

/** The result of one due time or a range of them. Times are milliseconds since 1970. */
export interface CronRow {
  readonly seq: number
  readonly jobId: string
  readonly dueAt: number
  readonly dueUntil: number
  readonly count: number
  readonly countExact: boolean
  readonly state: (typeof cronRowStates)[number]
  readonly reason: string | null
  readonly detail: string
  readonly manual: boolean
  readonly decidedAt: number
  readonly lateMs: number
  readonly runId: string | null
  readonly outcome: string | null
  readonly text: string
  readonly quiet: boolean
}

type NewSkip = Pick<CronRow, 'jobId' | 'dueAt' | 'dueUntil' | 'count' | 'countExact' | 'detail'> & {
  readonly reason: SkipReason
  readonly at: number
}

const rowSchema = z
  .object({
    seq: z.number(),
    job_id: z.string(),
    due_at: z.number(),
    due_until: z.number(),
    count: z.number(),
    count_exact: z.number(),
    state: z.enum(cronRowStates),
    reason: z.string().nullable(),
    detail: z.string(),
    manual: z.number(),
    decided_at: z.number(),
    late_ms: z.number(),
    run_id: z.string().nullable(),
    outcome: z.string().nullable(),
    text: z.string(),
    quiet: z.number(),
  })
  .transform((row): CronRow => ({
    seq: row.seq,
    jobId: row.job_id,
    dueAt: row.due_at,
    dueUntil: row.due_until,
    count: row.count,
    countExact: row.count_exact === 1,
    state: row.state,
    reason: row.reason,
    detail: row.detail,
    manual: row.manual === 1,
    decidedAt: row.decided_at,
    lateMs: row.late_ms,
    runId: row.run_id,
    outcome: row.outcome,
    text: row.text,
    quiet: row.quiet === 1,
  }))

export type CronTable = ReturnType<typeof createCronTable>

/** Stores the history of jobs and their counters. All calls join the caller's transaction. */
export function createCronTable(database: Database) {
  const rows = (sql: string, ...values: (string | number)[]): readonly CronRow[] =>
    database
      .prepare(`SELECT * FROM cron_rows ${sql}`)
      .all(...values)
      .map((row) => rowSchema.parse(row))
  const change = (sql: string, ...values: (string | number | null)[]): number =>
    Number(database.prepare(sql).run(...values).changes)

  return {
    ...createCronStates(database, change),
    ...skipCalls(rows, change),
    /** Inserts a row in state `firing`. Returns false if the due time already has a row. */
    insertFiring: (row: { jobId: string; dueAt: number; manual: boolean; at: number; lateMs: number }) =>
      change(
        "INSERT INTO cron_rows (job_id, due_at, due_until, count, count_exact, state, detail, manual, decided_at, late_ms) VALUES (?, ?, ?, 1, 1, 'firing', '', ?, ?, ?) ON CONFLICT DO NOTHING",
        row.jobId,
        row.dueAt,
        row.dueAt,
        row.manual ? 1 : 0,
        row.at,
        row.lateMs,
      ) === 1,
    /** Returns the row that `insertFiring` wrote, or the scheduled row of that due time. */
    firingRow: (jobId: string, dueAt: number, manual: boolean) =>
      rows(
        "WHERE job_id = ? AND due_at = ? AND manual = ? AND state = 'firing' ORDER BY seq DESC LIMIT 1",
        jobId,
        dueAt,
        manual ? 1 : 0,
      )[0] ?? null,
    markFired: (seq: number, runId: string) =>
      change("UPDATE cron_rows SET state = 'fired', run_id = ? WHERE seq = ?", runId, seq),
    markSkipped: (seq: number, reason: SkipReason, detail: string) =>
      change(
        "UPDATE cron_rows SET state = 'skipped', reason = ?, detail = ? WHERE seq = ?",
        reason,
        detail.slice(0, detailMaxChars),
        seq,
      ),
    /** Returns the rows in state `firing` and the rows whose run has not ended. */
    openOf: (jobId: string) => rows("WHERE job_id = ? AND state <> 'skipped' AND outcome IS NULL", jobId),
    /** Returns the rows in state `firing`: at most one per job, except for manual ones. */
    firing: () => rows("WHERE state = 'firing' ORDER BY seq"),
    byRun: (runId: string) => rows('WHERE run_id = ?', runId)[0] ?? null,
    bySeq: (seq: number) => rows('WHERE seq = ?', seq)[0] ?? null,
    settle: (seq: number, end: { outcome: string; text: string; quiet: boolean }) =>
      change(
        'UPDATE cron_rows SET outcome = ?, text = ?, quiet = ? WHERE seq = ? AND outcome IS NULL',
        end.outcome,
        end.text.slice(0, textMaxChars),
        end.quiet ? 1 : 0,
        seq,
      ) === 1,
    newest: (jobId: string, limit: number) =>
      rows('WHERE job_id = ? ORDER BY seq DESC LIMIT ?', jobId, limit),
    /** Returns the due times in the range (`after`, `until`] that have scheduled rows. */
    taken: (jobId: string, after: number, until: number): readonly number[] =>
      database
        .prepare(
          'SELECT due_at FROM cron_rows WHERE job_id = ? AND manual = 0 AND due_at > ? AND due_at <= ?',
        )
        .all(jobId, after, until)
        .map((row) => Number(row['due_at'])),
    /** Deletes old rows of the job. Keeps the newest rows, and the rows of unfinished runs. */
    trim: (jobId: string) =>
      change(
        "DELETE FROM cron_rows WHERE job_id = ?1 AND seq <= (SELECT seq FROM cron_rows WHERE job_id = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2) AND NOT (state <> 'skipped' AND outcome IS NULL)",
        jobId,
        rowsPerJobMax,
      ),
    forget: (jobId: string) => {
      change('DELETE FROM cron_rows WHERE job_id = ?', jobId)
      change('DELETE FROM cron_states WHERE job_id = ?', jobId)
    },
  }
}

function skipCalls(
  rows: (sql: string, ...values: (string | number)[]) => readonly CronRow[],
  change: Change,
) {
  return {
    /** Extends the previous row if it is a skip for the same reason. Returns true if it inserted a row. */
    skip: (skip: NewSkip): boolean => {
      const detail = skip.detail.slice(0, detailMaxChars)
      const before = rows('WHERE job_id = ? ORDER BY seq DESC LIMIT 1', skip.jobId)[0]
      const same =
        before?.state === 'skipped' &&
        !before.manual &&
        before.reason === skip.reason &&
        before.detail === detail
      // After a clock was set back, a due time between the two skips may have its own row.
      const next = same && before.dueUntil < skip.dueAt
      const between =
        next &&
        rows(
          'WHERE job_id = ? AND manual = 0 AND due_at > ? AND due_at < ? LIMIT 1',
          skip.jobId,
          before.dueUntil,
          skip.dueAt,
        ).length > 0
      if (next && !between) {
        change(
          'UPDATE cron_rows SET due_until = ?, count = count + ?, count_exact = min(count_exact, ?), decided_at = ? WHERE seq = ?',
          skip.dueUntil,
          skip.count,
          skip.countExact ? 1 : 0,
          skip.at,
          before.seq,
        )
        return false
      }
      change(
        "INSERT INTO cron_rows (job_id, due_at, due_until, count, count_exact, state, reason, detail, manual, decided_at, late_ms) VALUES (?, ?, ?, ?, ?, 'skipped', ?, ?, 0, ?, ?)",
        skip.jobId,
        skip.dueAt,
        skip.dueUntil,
        skip.count,
        skip.countExact ? 1 : 0,
        skip.reason,
        detail,
        skip.at,
        Math.max(0, skip.at - skip.dueUntil),
      )
      return true
    },
    /** Returns the skips whose range extends beyond a time. */
    skippedBeyond: (jobId: string, moment: number) =>
      rows("WHERE job_id = ? AND state = 'skipped' AND manual = 0 AND due_until > ?", jobId, moment),
    cutSkip: (seq: number, end: { dueUntil: number; count: number; countExact: boolean }) =>
      change(
        'UPDATE cron_rows SET due_until = ?, count = ?, count_exact = ? WHERE seq = ?',
        end.dueUntil,
        end.count,
        end.countExact ? 1 : 0,
        seq,
      ),
    deleteRow: (seq: number) => change('DELETE FROM cron_rows WHERE seq = ?', seq),
  }
}
