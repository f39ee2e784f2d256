import { fleetEventBodySchema } from '@flotilla/protocol/fleet-event'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'
import type { AskedEvents } from './event-bus.ts'
import { writtenEvent } from './written-event.ts'

const eventRowSchema = z.object({ seq: z.number(), at: z.number(), body: jsonColumn(fleetEventBodySchema) })
const sequenceSchema = z.object({ reserved_until: z.number(), dropped_until: z.number() })

export interface EventTable {
  insert(event: FleetEvent): void
  after(seq: number, limit: number): readonly FleetEvent[]
  /** Stored events that name this run, oldest first. Scans all stored events. */
  ofRun(runId: string, asked: AskedEvents): readonly FleetEvent[]
  /** The highest number that may have been used. */
  reservedUntil(): number
  reserve(until: number): void
  /** All stored events have a greater number; lower ones were deleted or never stored. */
  droppedUntil(): number
  /** Counts the stored events with a scan. */
  count(): number
  /** Deletes this many of the oldest events; the caller makes sure that they exist. */
  dropOldest(count: number): void
}

export function createEventTable(database: Database): EventTable {
  function sequence() {
    const row = database
      .prepare('SELECT reserved_until, dropped_until FROM event_sequence WHERE id = 1')
      .get()
    return row ? sequenceSchema.parse(row) : { reserved_until: 0, dropped_until: 0 }
  }

  function dropOldest(count: number): void {
    database.transaction(() => {
      const row = database.prepare('SELECT seq FROM events ORDER BY seq LIMIT 1 OFFSET ?').get(count - 1)
      if (!row) return
      const until = Number(row['seq'])
      database.prepare('DELETE FROM events WHERE seq <= ?').run(until)
      database.prepare('UPDATE event_sequence SET dropped_until = ? WHERE id = 1').run(until)
    })
  }

  return {
    count: () => Number(database.prepare('SELECT count(*) AS count FROM events').get()?.['count']),
    dropOldest,
    insert: (event) => {
      database
        .prepare('INSERT INTO events (seq, at, body) VALUES (?, ?, ?)')
        .run(event.seq, event.at, writtenEvent(event).body)
    },
    after: (seq, limit) =>
      database
        .prepare('SELECT seq, at, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?')
        .all(seq, limit)
        .map((row) => eventRowSchema.parse(row)),
    ofRun: (runId, { limit, types }) =>
      database
        .prepare(
          "SELECT seq, at, body FROM events WHERE json_extract(body, '$.run_id') = ?1 AND (?2 IS NULL OR json_extract(body, '$.type') IN (SELECT value FROM json_each(?2))) ORDER BY seq LIMIT ?3",
        )
        .all(runId, types === undefined ? null : JSON.stringify(types), limit)
        .map((row) => eventRowSchema.parse(row)),
    reservedUntil: () => sequence().reserved_until,
    droppedUntil: () => sequence().dropped_until,
    reserve: (until) => {
      database
        .prepare(
          'INSERT INTO event_sequence (id, reserved_until, dropped_until) VALUES (1, ?, 0) ON CONFLICT (id) DO UPDATE SET reserved_until = excluded.reserved_until',
        )
        .run(until)
    },
  }
}
