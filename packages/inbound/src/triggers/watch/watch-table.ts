import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import type { FileChange, NoticedChange } from './seen-files.ts'

/**
 * The maximum number of file changes whose delivery waits and that are persisted. Further changes wait in memory
 * only.
 */
const noticedMax = 10_000
/** The maximum number of rows of file watchers' history. */
const historyMax = 5000
/** The maximum number of rows per transaction, so that many files do not block other work. */
export const rowsAtOnce = 500

export interface FiredChange {
  readonly watchId: string
  readonly watch: string
  readonly agentId: string
  readonly filepath: string
  readonly change: FileChange
  readonly sizeBytes: number
  readonly runId: string
  readonly firedAt: number
}

export type WatchTable = ReturnType<typeof createWatchTable>

const changeSchema = z.enum(['added', 'modified'])
const noticedSchema = z
  .object({
    name: z.instanceof(Uint8Array),
    change: changeSchema,
    modified_ms: z.number(),
    changed_ms: z.number(),
    size_bytes: z.number(),
    inode: z.number(),
    noticed_at: z.number(),
  })
  .transform((row): NoticedChange => ({
    name: Buffer.from(row.name).toString('latin1'),
    change: row.change,
    stat: {
      modifiedMs: row.modified_ms,
      changedMs: row.changed_ms,
      sizeBytes: row.size_bytes,
      inode: row.inode,
    },
    noticedAt: row.noticed_at,
  }))
const firedSchema = z
  .object({
    watch_id: z.string(),
    watch: z.string(),
    agent_id: z.string(),
    filepath: z.string(),
    change: changeSchema,
    size_bytes: z.number(),
    run_id: z.string(),
    fired_at: z.number(),
  })
  .transform((row): FiredChange => ({
    watchId: row.watch_id,
    watch: row.watch,
    agentId: row.agent_id,
    filepath: row.filepath,
    change: row.change,
    sizeBytes: row.size_bytes,
    runId: row.run_id,
    firedAt: row.fired_at,
  }))

export function createWatchTable(database: Database) {
  const bytes = (name: string): Buffer => Buffer.from(name, 'latin1')
  const noticedCount = (): number =>
    Number(database.prepare('SELECT count(*) AS count FROM watch_noticed').get()?.['count'] ?? 0)

  return {
    noticedCount,
    /** Stores changes up to the limit and returns their number. */
    notice: (watchId: string, changes: readonly NoticedChange[]): number =>
      database.transaction(() => {
        const kept = changes.slice(0, Math.max(0, noticedMax - noticedCount()))
        for (const { name, change, stat, noticedAt } of kept) {
          database
            .prepare('INSERT OR REPLACE INTO watch_noticed VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
            .run(
              watchId,
              bytes(name),
              change,
              stat.modifiedMs,
              stat.changedMs,
              stat.sizeBytes,
              stat.inode,
              noticedAt,
            )
        }
        return kept.length
      }),
    noticedOf: (watchId: string): readonly NoticedChange[] =>
      database
        .prepare(
          'SELECT name, change, modified_ms, changed_ms, size_bytes, inode, noticed_at FROM watch_noticed WHERE watch_id = ?',
        )
        .all(watchId)
        .map((row) => noticedSchema.parse(row)),
    settle: (watchId: string, names: readonly string[]): void =>
      database.transaction(() => {
        const statement = database.prepare('DELETE FROM watch_noticed WHERE watch_id = ? AND name = ?')
        for (const name of names) statement.run(watchId, bytes(name))
      }),
    /** Deletes changes of watches that no longer exist. */
    forgetOthers: (watchIds: readonly string[]): void => {
      database
        .prepare('DELETE FROM watch_noticed WHERE watch_id NOT IN (SELECT value FROM json_each(?))')
        .run(JSON.stringify(watchIds))
    },
    fired: (row: FiredChange): void => {
      const { lastInsertRowid } = database
        .prepare(
          'INSERT INTO watch_history (watch_id, watch, agent_id, filepath, change, size_bytes, run_id, fired_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          row.watchId,
          row.watch,
          row.agentId,
          row.filepath,
          row.change,
          row.sizeBytes,
          row.runId,
          row.firedAt,
        )
      database
        .prepare('DELETE FROM watch_history WHERE position <= ?')
        .run(Number(lastInsertRowid) - historyMax)
    },
    /** Returns fired changes, newest first. */
    history: (limit: number): readonly FiredChange[] =>
      database
        .prepare('SELECT * FROM watch_history ORDER BY position DESC LIMIT ?')
        .all(limit)
        .map((row) => firedSchema.parse(row)),
  }
}
