import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** How much of an agent's answer the state of a cron job stores, in characters. The run has the full text. */
export const textMaxChars = 2000

/** The stored state of a job, next to its definition. */
export interface CronState {
  readonly jobId: string
  readonly agentId: string
  readonly scheduleKey: string
  /** All due times up to this time have rows. */
  readonly accountedUntil: number
  readonly fired: number
  readonly skipped: number
  readonly failed: number
  readonly failedInRow: number
  readonly lastFiredAt: number | null
  readonly lastOutcome: string | null
  readonly lastText: string
}

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

/** Executes a statement and returns the number of changed rows. */
export type Change = (sql: string, ...values: (string | number | null)[]) => number

/**
 * Stores one row per job: the time until which it is accounted for, and its counters. All calls
 * join the caller's transaction.
 */
export function createCronStates(database: Database, change: Change) {
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
    /** Counts the end of a run. A cancelled run counts neither as success nor as failure. */
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
