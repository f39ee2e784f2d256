import { versionLimits } from '@flotilla/protocol/blackboard-limits'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import { createWriterSums } from './writer-sums.ts'

const versionSchema = z.object({
  version: z.number(),
  value: jsonColumn(jsonValueSchema),
  written_by: z.string(),
  written_at: z.number(),
})
export type EntryVersion = Readonly<z.infer<typeof versionSchema>>

export type VersionTable = ReturnType<typeof createVersionTable>

/**
 * Keeps the newest earlier versions of each key, for people to read. When a key is deleted or
 * expires, its versions are deleted too: deleted content must not be found in this table.
 */
export function createVersionTable(database: Database) {
  const sums = createWriterSums(database, 'blackboard_versions')

  function trim(): void {
    for (;;) {
      const { rows, bytes } = sums.total()
      const over = rows > versionLimits.max ? 'rows' : bytes > versionLimits.maxBytes ? 'bytes' : null
      const writer = over === null ? null : sums.largest(over)
      if (writer === null) return
      database
        .prepare(
          `DELETE FROM blackboard_versions WHERE position =
             (SELECT min(position) FROM blackboard_versions WHERE written_by = ?)`,
        )
        .run(writer)
    }
  }

  return {
    /** Joins the transaction of the write. */
    keep: (key: string, version: EntryVersion, valueJson: string): void => {
      database
        .prepare(
          `INSERT INTO blackboard_versions (key, version, value, size_bytes, written_by, written_at)
           VALUES (?, ?, ?, ?, ?, ?)`,
        )
        .run(
          key,
          version.version,
          valueJson,
          Buffer.byteLength(valueJson),
          version.written_by,
          version.written_at,
        )
      database
        .prepare('DELETE FROM blackboard_versions WHERE key = ? AND version <= ?')
        .run(key, version.version - versionLimits.perKeyMax)
      trim()
    },
    /** Returns the versions, newest first. */
    of: (key: string): readonly EntryVersion[] =>
      database
        .prepare(
          'SELECT version, value, written_by, written_at FROM blackboard_versions WHERE key = ? ORDER BY version DESC LIMIT ?',
        )
        .all(key, versionLimits.perKeyMax)
        .map((row) => versionSchema.parse(row)),
    forget: (key: string): void => {
      database.prepare('DELETE FROM blackboard_versions WHERE key = ?').run(key)
    },
    forgetBelow: (key: string): void => {
      database
        .prepare(
          "DELETE FROM blackboard_versions WHERE key = :key OR substr(key, 1, length(:key) + 1) = :key || '/'",
        )
        .run({ key })
    },
    /** Deletes versions of entries that no longer exist. */
    sweep: (now: number): void => {
      database
        .prepare(
          `DELETE FROM blackboard_versions WHERE NOT EXISTS (
             SELECT 1 FROM blackboard AS b
             WHERE b.key = blackboard_versions.key AND (b.expires_at IS NULL OR b.expires_at > ?))`,
        )
        .run(now)
    },
  }
}
