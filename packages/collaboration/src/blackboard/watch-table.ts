import { watchLimits, watchDeliveries } from '@flotilla/protocol/blackboard-limits'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

const watchSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  pattern: z.string(),
  tell: z.enum(watchDeliveries),
  created_by: z.string(),
  created_at: z.number(),
  last_run_id: z.string().nullable(),
  told: z.number(),
})
export type WatchRow = Readonly<z.infer<typeof watchSchema>>

const changeSchema = z.object({
  position: z.number(),
  key: z.string(),
  version: z.number(),
  written_by: z.string(),
  written_at: z.number(),
})
export type WatchedChange = Readonly<z.infer<typeof changeSchema>>

export type BlackboardWatchTable = ReturnType<typeof createBlackboardWatchTable>

/** Reads and writes the rows of watches; callers make the decisions. */
export function createBlackboardWatchTable(database: Database) {
  /** Cached because every write reads all watches; only this table changes them. */
  let known: readonly WatchRow[] | null = null
  const forget = (): void => {
    known = null
    database.afterRollback(() => (known = null))
  }
  const count = (sql: string, ...values: string[]): number =>
    Number(database.prepare(sql).get(...values)?.['count'] ?? 0)

  return {
    all: (): readonly WatchRow[] =>
      (known ??= database
        .prepare('SELECT * FROM blackboard_watches ORDER BY created_at, id')
        .all()
        .map((row) => watchSchema.parse(row))),
    put: (
      watch: Pick<WatchRow, 'id' | 'agent_id' | 'pattern' | 'tell' | 'created_by' | 'created_at'>,
    ): void => {
      forget()
      database
        .prepare(
          `INSERT INTO blackboard_watches (id, agent_id, pattern, tell, created_by, created_at)
           VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, pattern) DO UPDATE SET tell = excluded.tell`,
        )
        .run(watch.id, watch.agent_id, watch.pattern, watch.tell, watch.created_by, watch.created_at)
    },
    remove: (id: string): void => {
      forget()
      database.prepare('DELETE FROM blackboard_changes WHERE watch_id = ?').run(id)
      database.prepare('DELETE FROM blackboard_watches WHERE id = ?').run(id)
    },
    told: (
      watch: Pick<WatchRow, 'id' | 'agent_id'>,
      mark: { readonly runId: string | null; readonly hour: number },
    ): void => {
      forget()
      database
        .prepare('UPDATE blackboard_watches SET last_run_id = ?, told = told + 1 WHERE id = ?')
        .run(mark.runId, watch.id)
      // The counts of past hours are never read again, so their rows are deleted.
      database.prepare('DELETE FROM blackboard_tells WHERE hour < ?').run(mark.hour)
      database
        .prepare(
          `INSERT INTO blackboard_tells (agent_id, hour, told) VALUES (?, ?, 1)
           ON CONFLICT (agent_id, hour) DO UPDATE SET told = told + 1`,
        )
        .run(watch.agent_id, mark.hour)
    },
    /** Returns the number of notifications in that hour for all watches of the agent, including ended watches. */
    toldInHour: (agentId: string, hour: number): number =>
      Number(
        database
          .prepare('SELECT told FROM blackboard_tells WHERE agent_id = ? AND hour = ?')
          .get(agentId, hour)?.['told'] ?? 0,
      ),
    /** Keeps the newest change of each key; above the limit of keys the oldest change is dropped. */
    note: (watchId: string, change: Omit<WatchedChange, 'position'>): void => {
      database
        .prepare(
          `INSERT INTO blackboard_changes (watch_id, key, version, written_by, written_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (watch_id, key) DO UPDATE SET version = excluded.version, written_by = excluded.written_by,
             written_at = excluded.written_at`,
        )
        .run(watchId, change.key, change.version, change.written_by, change.written_at)
      database
        .prepare(
          `DELETE FROM blackboard_changes WHERE watch_id = ? AND position <= (
             SELECT position FROM blackboard_changes WHERE watch_id = ? ORDER BY position DESC LIMIT 1 OFFSET ?)`,
        )
        .run(watchId, watchId, watchLimits.changesMax)
    },
    /** Returns the changes, oldest first. */
    changes: (watchId: string): readonly WatchedChange[] =>
      database
        .prepare(
          'SELECT position, key, version, written_by, written_at FROM blackboard_changes WHERE watch_id = ? ORDER BY position',
        )
        .all(watchId)
        .map((row) => changeSchema.parse(row)),
    waitingCount: (watchId: string): number =>
      count('SELECT count(*) AS count FROM blackboard_changes WHERE watch_id = ?', watchId),
    /** Ids of the watches that have undelivered changes. */
    waiting: (): readonly string[] =>
      database
        .prepare('SELECT DISTINCT watch_id FROM blackboard_changes')
        .all()
        .map((row) => String(row['watch_id'])),
    /** Deletes the changes of that key and of all keys below the key, for all watches. */
    forgetChangesBelow: (key: string): void => {
      database
        .prepare(
          "DELETE FROM blackboard_changes WHERE key = :key OR substr(key, 1, length(:key) + 1) = :key || '/'",
        )
        .run({ key })
    },
    forgetChanges: (positions: readonly number[]): void => {
      for (const position of positions)
        database.prepare('DELETE FROM blackboard_changes WHERE position = ?').run(position)
    },
  }
}
