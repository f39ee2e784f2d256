import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits } from '../channel-limits.ts'

export const sentFileSchema = z.object({ agentId: z.string(), name: z.string() })
/** An artifact that is sent with an answer. */
export type SentFile = z.infer<typeof sentFileSchema>

const rowSchema = z
  .object({ agent_id: z.string(), name: z.string() })
  .transform((row): SentFile => ({ agentId: row.agent_id, name: row.name }))

export type RunFiles = ReturnType<typeof createRunFiles>

/** Stores the artifacts that agents saved in runs that people on channels requested. */
export function createRunFiles(database: Database) {
  return {
    /**
     * Adds an artifact; a name that was added before is the same file. Files above the limit appear
     * only in the dashboard. Joins the caller's transaction.
     */
    add: (runId: string, { agentId, name }: SentFile, now: number): void => {
      database
        .prepare(
          `INSERT INTO channel_run_files (run_id, name, agent_id, saved_at)
           SELECT ?1, ?2, ?3, ?4 WHERE (SELECT count(*) FROM channel_run_files WHERE run_id = ?1) < ?5
           ON CONFLICT (run_id, name) DO UPDATE SET saved_at = excluded.saved_at`,
        )
        .run(runId, name, agentId, now, channelLimits.filesPerRunMax)
    },
    /** Returns the artifacts of a run in the order in which they were last saved. */
    of: (runId: string): readonly SentFile[] =>
      database
        .prepare('SELECT agent_id, name FROM channel_run_files WHERE run_id = ? ORDER BY saved_at, name')
        .all(runId)
        .map((row) => rowSchema.parse(row)),
    trim: (now: number): void => {
      database
        .prepare('DELETE FROM channel_run_files WHERE saved_at < ?')
        .run(now - channelLimits.runsKeptDays * 24 * 3600 * 1000)
    },
  }
}
