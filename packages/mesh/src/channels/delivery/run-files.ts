import * as z from 'zod'
import type { Database } from '../../storage/index.ts'
import { channelLimits } from '../channel-limits.ts'

export const sentFileSchema = z.object({ agentId: z.string(), name: z.string() })
/** An artifact that goes beside an answer. */
export type SentFile = z.infer<typeof sentFileSchema>

const rowSchema = z
  .object({ agent_id: z.string(), name: z.string() })
  .transform((row): SentFile => ({ agentId: row.agent_id, name: row.name }))

export type RunFiles = ReturnType<typeof createRunFiles>

/** Which artifacts an agent saved in which run that somebody on a channel asked for. */
export function createRunFiles(database: Database) {
  return {
    /** Joins the caller's transaction. The same name is one file; what is over the bound is the dashboard's alone. */
    add: (runId: string, { agentId, name }: SentFile, now: number): void => {
      database
        .prepare(
          `INSERT INTO channel_run_files (run_id, name, agent_id, saved_at)
           SELECT ?1, ?2, ?3, ?4 WHERE (SELECT count(*) FROM channel_run_files WHERE run_id = ?1) < ?5
           ON CONFLICT (run_id, name) DO UPDATE SET saved_at = excluded.saved_at`,
        )
        .run(runId, name, agentId, now, channelLimits.filesPerRunMax)
    },
    /** In the order in which they were saved last. */
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
