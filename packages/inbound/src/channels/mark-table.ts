import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { ChannelMarks } from './adapters/index.ts'

/** How long the mark of a silent conversation is kept, in milliseconds. After that the conversation counts as new. */
const keptMs = 90 * 24 * 3_600_000

/** Stores marks in the database. Expired marks are deleted when the table is opened. */
export function createMarkTable(database: Database, clock: Clock): ChannelMarks {
  database.prepare('DELETE FROM channel_marks WHERE written_at < ?').run(clock.now() - keptMs)
  return {
    read: (key) => {
      const value = database.prepare('SELECT value FROM channel_marks WHERE key = ?').get(key)?.['value']
      return typeof value === 'string' ? value : null
    },
    write: (key, value) => {
      database
        .prepare(
          `INSERT INTO channel_marks (key, value, written_at) VALUES (?, ?, ?)
           ON CONFLICT (key) DO UPDATE SET value = excluded.value, written_at = excluded.written_at`,
        )
        .run(key, value, clock.now())
    },
  }
}
