import { fleetEventBodySchema } from '@flotilla/protocol/fleet-event'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'
import { writtenEvent } from './written-event.ts'

const eventRowSchema = z.object({ seq: z.number(), at: z.number(), body: jsonColumn(fleetEventBodySchema) })
const sequenceSchema = z.object({ reserved_until: z.number(), dropped_until: z.number() })

export interface EventTable {
  insert(event: FleetEvent): void
  after(seq: number, limit: number): readonly FleetEvent[]
  /** Kept events that name this run, oldest first. Looks at every kept event. */
  ofRun(runId: string, limit: number): readonly FleetEvent[]
  /** The highest number that may have been given out. */
  reservedUntil(): number
  reserve(until: number): void
  /** Every kept event has a greater number; what was dropped or never kept may lie below. */
  droppedUntil(): number
  /** How many are kept. Looks at every one. */
  count(): number
  /** There are at least so many. */
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
    ofRun: (runId, limit) =>
      database
        .prepare(
          "SELECT seq, at, body FROM events WHERE json_extract(body, '$.run_id') = ? ORDER BY seq LIMIT ?",
        )
        .all(runId, limit)
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
