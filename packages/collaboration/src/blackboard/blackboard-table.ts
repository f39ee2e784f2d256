import type { BlackboardEntry } from '@flotilla/protocol/blackboard-entry'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import { createWriterSums } from './writer-sums.ts'
import type { WriterSums } from './writer-sums.ts'

/**
 * How long the row of an expired entry is kept, in milliseconds. During this time its version
 * number is not used again, so a late writer gets a conflict.
 */
const expiredKeptMs = 3600_000
/** How many keys one query of a listing reads. */
const pageKeys = 256

export interface WrittenEntry {
  readonly key: string
  /** The value as JSON text. */
  readonly valueJson: string
  readonly writtenBy: string
  readonly expiresAt: number | null
  /** 0 requires that the key does not exist; null accepts any version. */
  readonly expectedVersion: number | null
}

export interface BlackboardTable {
  /** Writes with the next version in one statement; returns null and changes nothing if the version differs. */
  write(entry: WrittenEntry, now: number): BlackboardEntry | null
  /** Returns null if the key does not exist or has expired. */
  read(key: string, now: number): BlackboardEntry | null
  /** Keys that begin with `prefix`, in order. They are read lazily, so the reader can stop early. */
  keysUnder(prefix: string, now: number): Iterable<string>
  /**
   * Returns who wrote the key last and the bytes of key and value, also if it has expired; null if there is no row.
   */
  sizeOf(key: string): { readonly writtenBy: string; readonly bytes: number } | null
  /** The rows and bytes of each writer; a row counts for the last writer of its key, also if it has expired. */
  readonly sums: WriterSums
  /** Counts the append-only entries below `history/`, of the fleet and of projects: those of this writer, and all. */
  historyCounts(writtenBy: string): { readonly own: number; readonly total: number }
  /** Makes the entry expire but keeps its version number in use. Returns false if the entry did not exist. */
  remove(key: string, now: number): boolean
  /** Deletes the rows of that key and of all keys below the key. */
  removeBelow(key: string): void
  /** Deletes rows that expired long enough ago and returns their number. */
  sweep(now: number): number
}

const rowSchema = z.object({
  key: z.string(),
  value: jsonColumn(jsonValueSchema),
  version: z.number(),
  written_by: z.string(),
  created_at: z.number(),
  updated_at: z.number(),
  expires_at: z.number().nullable(),
})

/**
 * Makes the whole decision in one statement, so that exactly one of several writers with the same expected version
 * wins. An expired row counts as absent, but its version continues: 5 before, 6 after.
 */
const writeSql = `
  INSERT INTO blackboard (key, value, version, written_by, created_at, updated_at, expires_at)
  SELECT :key, :value, 1, :written_by, :now, :now, :expires_at
  WHERE :expected IS NULL OR :expected = 0 OR EXISTS (SELECT 1 FROM blackboard WHERE key = :key)
  ON CONFLICT (key) DO UPDATE SET
    value = excluded.value,
    version = blackboard.version + 1,
    written_by = excluded.written_by,
    created_at = CASE WHEN blackboard.expires_at <= :now THEN :now ELSE blackboard.created_at END,
    updated_at = :now,
    expires_at = excluded.expires_at
  WHERE :expected IS NULL
    OR (:expected = 0 AND blackboard.expires_at <= :now)
    OR (:expected = blackboard.version AND (blackboard.expires_at IS NULL OR blackboard.expires_at > :now))
  RETURNING *`

export function createBlackboardTable(database: Database): BlackboardTable {
  return {
    write: (entry, now) => {
      const row = database.prepare(writeSql).get({
        key: entry.key,
        value: entry.valueJson,
        written_by: entry.writtenBy,
        now,
        expires_at: entry.expiresAt,
        expected: entry.expectedVersion,
      })
      return row ? rowSchema.parse(row) : null
    },
    read: (key, now) => {
      const row = database
        .prepare('SELECT * FROM blackboard WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)')
        .get(key, now)
      return row ? rowSchema.parse(row) : null
    },
    keysUnder: function* (prefix, now) {
      // Keys compare by their bytes, so keys with a common prefix are adjacent.
      const page = (comparison: '>=' | '>', from: string): string[] =>
        database
          .prepare(
            `SELECT key FROM blackboard WHERE key ${comparison} ? AND (expires_at IS NULL OR expires_at > ?)
             ORDER BY key LIMIT ${pageKeys}`,
          )
          .all(from, now)
          .map((row) => String(row['key']))
      for (let keys = page('>=', prefix); ; keys = page('>', keys.at(-1) ?? prefix)) {
        for (const key of keys) {
          if (!key.startsWith(prefix)) return
          yield key
        }
        if (keys.length < pageKeys) return
      }
    },
    sizeOf: (key) => {
      const row = database
        .prepare(
          'SELECT written_by, octet_length(key) + octet_length(value) AS bytes FROM blackboard WHERE key = ?',
        )
        .get(key)
      return row ? { writtenBy: String(row['written_by']), bytes: Number(row['bytes']) } : null
    },
    sums: createWriterSums(database, 'blackboard'),
    historyCounts: (writtenBy) => {
      const row = database
        .prepare(
          `SELECT count(*) AS total, count(*) FILTER (WHERE written_by = ?) AS own FROM blackboard
           WHERE expires_at IS NULL AND (key GLOB 'history/*' OR key GLOB 'projects/*/history/*')`,
        )
        .get(writtenBy)
      return { own: Number(row?.['own'] ?? 0), total: Number(row?.['total'] ?? 0) }
    },
    remove: (key, now) =>
      database
        .prepare(
          'UPDATE blackboard SET expires_at = :now WHERE key = :key AND (expires_at IS NULL OR expires_at > :now)',
        )
        .run({ key, now }).changes === 1,
    removeBelow: (key) => {
      database
        .prepare("DELETE FROM blackboard WHERE key = :key OR substr(key, 1, length(:key) + 1) = :key || '/'")
        .run({ key })
    },
    sweep: (now) =>
      Number(
        database
          .prepare('DELETE FROM blackboard WHERE expires_at IS NOT NULL AND expires_at <= ?')
          .run(now - expiredKeptMs).changes,
      ),
  }
}
