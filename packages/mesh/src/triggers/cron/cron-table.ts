import { cronRowStates } from '@flotilla/protocol/cron-api'
import * as z from 'zod'
import type { Database } from '../../storage/database.ts'

/** Rows that are kept of one job, newest first; those of a run that goes on stay beside them. */
export const rowsPerJobMax = 200
/** Of an answer; the run has the whole, characters. */
const textMaxChars = 2000
const detailMaxChars = 500

/** Why a due time was let pass. */
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

/** What became of one due time, or of a stretch of them. Times are milliseconds since 1970. */
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

/** What is kept of a job beside its record. */
export interface CronState {
  readonly jobId: string
  readonly agentId: string
  readonly scheduleKey: string
  /** Every due time until here has its row. */
  readonly accountedUntil: number
  readonly fired: number
  readonly skipped: number
  readonly failed: number
  readonly failedInRow: number
  readonly lastFiredAt: number | null
  readonly lastOutcome: string | null
  readonly lastText: string
}

export type NewSkip = Pick<CronRow, 'jobId' | 'dueAt' | 'dueUntil' | 'count' | 'countExact' | 'detail'> & {
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

const stateSchema = z
  .object({
    job_id: z.string(),
    agent_id: z.string(),
    schedule_key: z.string(),
    accounted_until: z.number(),
    fired: z.number(),
    skipped: z.number(),
    failed: z.number(),
    failed_in_row: z.number(),
    last_fired_at: z.number().nullable(),
    last_outcome: z.string().nullable(),
    last_text: z.string(),
  })
  .transform((row): CronState => ({
    jobId: row.job_id,
    agentId: row.agent_id,
    scheduleKey: row.schedule_key,
    accountedUntil: row.accounted_until,
    fired: row.fired,
    skipped: row.skipped,
    failed: row.failed,
    failedInRow: row.failed_in_row,
    lastFiredAt: row.last_fired_at,
    lastOutcome: row.last_outcome,
    lastText: row.last_text,
  }))

export type CronTable = ReturnType<typeof createCronTable>

/** The history of jobs and their counts. All calls join the caller's transaction. */
export function createCronTable(database: Database) {
  const rows = (sql: string, ...values: (string | number)[]): readonly CronRow[] =>
    database
      .prepare(`SELECT * FROM cron_rows ${sql}`)
      .all(...values)
      .map((row) => rowSchema.parse(row))
  const change = (sql: string, ...values: (string | number | null)[]): number =>
    Number(database.prepare(sql).run(...values).changes)

  return {
    ...stateCalls(database, change),
    ...skipCalls(rows, change),
    /** False where that due time has its row already. */
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
    /** The row that `insertFiring` just wrote, or the scheduled one of that due time. */
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
    /** Fired ones whose run goes on, and those that are being fired. */
    openOf: (jobId: string) => rows("WHERE job_id = ? AND state <> 'skipped' AND outcome IS NULL", jobId),
    /** One for each job at most, but for those by hand. */
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
    /** Due times in a stretch that have scheduled rows of their own: `after` is left out, `until` is not. */
    taken: (jobId: string, after: number, until: number): readonly number[] =>
      database
        .prepare(
          'SELECT due_at FROM cron_rows WHERE job_id = ? AND manual = 0 AND due_at > ? AND due_at <= ?',
        )
        .all(jobId, after, until)
        .map((row) => Number(row['due_at'])),
    /** Keeps the newest, and those whose run goes on. */
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

type Change = (sql: string, ...values: (string | number | null)[]) => number

function skipCalls(
  rows: (sql: string, ...values: (string | number)[]) => readonly CronRow[],
  change: Change,
) {
  return {
    /** A skip for the same reason as the row before it lengthens that row; true where one begins. */
    skip: (skip: NewSkip): boolean => {
      const detail = skip.detail.slice(0, detailMaxChars)
      const before = rows('WHERE job_id = ? ORDER BY seq DESC LIMIT 1', skip.jobId)[0]
      const same =
        before?.state === 'skipped' &&
        !before.manual &&
        before.reason === skip.reason &&
        before.detail === detail
      // After a clock was set back, a due time in between may have a row of its own.
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
    /** Skips whose stretch reaches beyond a moment. */
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

function stateCalls(database: Database, change: Change) {
  return {
    states: (): readonly CronState[] =>
      database
        .prepare('SELECT * FROM cron_states')
        .all()
        .map((row) => stateSchema.parse(row)),
    stateOf: (jobId: string): CronState | null => {
      const row = database.prepare('SELECT * FROM cron_states WHERE job_id = ?').get(jobId)
      return row ? stateSchema.parse(row) : null
    },
    putState: (state: Pick<CronState, 'jobId' | 'agentId' | 'scheduleKey' | 'accountedUntil'>) =>
      change(
        'INSERT INTO cron_states (job_id, agent_id, schedule_key, accounted_until) VALUES (?, ?, ?, ?) ON CONFLICT (job_id) DO UPDATE SET agent_id = excluded.agent_id, schedule_key = excluded.schedule_key, accounted_until = excluded.accounted_until',
        state.jobId,
        state.agentId,
        state.scheduleKey,
        state.accountedUntil,
      ),
    account: (jobId: string, until: number) =>
      change('UPDATE cron_states SET accounted_until = ? WHERE job_id = ?', until, jobId),
    countFired: (jobId: string, at: number) =>
      change('UPDATE cron_states SET fired = fired + 1, last_fired_at = ? WHERE job_id = ?', at, jobId),
    countSkipped: (jobId: string, count: number) =>
      change('UPDATE cron_states SET skipped = skipped + ? WHERE job_id = ?', count, jobId),
    /** A run that was cancelled is neither well nor failed. */
    countEnd: (jobId: string, end: { outcome: string; text: string; failed: boolean; done: boolean }) =>
      change(
        'UPDATE cron_states SET failed = failed + ?1, failed_in_row = CASE WHEN ?2 THEN 0 ELSE failed_in_row + ?1 END, last_outcome = ?3, last_text = ?4 WHERE job_id = ?5',
        end.failed ? 1 : 0,
        end.done ? 1 : 0,
        end.outcome,
        end.text.slice(0, textMaxChars),
        jobId,
      ),
  }
}
