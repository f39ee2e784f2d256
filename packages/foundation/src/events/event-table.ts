import { fleetEventBodySchema } from '@flotilla/protocol/fleet-event'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'
import type { AskedEvents } from './event-bus.ts'
import { chooseDropped } from './choose-dropped.ts'
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
  /** No event with a greater number was deleted; of lower ones only those of agents with few events remain. */
  droppedUntil(): number
  /** Counts the stored events with a scan. */
  count(): number
  /** Keeps `keep` of the `shared` oldest events, in equal shares for the agents that they are about. */
  dropOld(shared: number, keep: number): void
}

export function createEventTable(database: Database): EventTable {
  function sequence() {
    const row = database
      .prepare('SELECT reserved_until, dropped_until FROM event_sequence WHERE id = 1')
      .get()
    return row ? sequenceSchema.parse(row) : { reserved_until: 0, dropped_until: 0 }
  }

  function dropOld(shared: number, keep: number): void {
    database.transaction(() => {
      const old = database
        .prepare(
          "SELECT seq, coalesce(json_extract(body, '$.agent_id'), '') AS owner FROM events ORDER BY seq LIMIT ?",
        )
        .all(shared)
        .map((row) => ({ seq: Number(row['seq']), owner: String(row['owner']) }))
      const dropped = chooseDropped(old, keep)
      const until = dropped.at(-1)
      if (until === undefined) return
      database
        .prepare('DELETE FROM events WHERE seq IN (SELECT value FROM json_each(?))')
        .run(JSON.stringify(dropped))
      database
        .prepare('UPDATE event_sequence SET dropped_until = max(dropped_until, ?) WHERE id = 1')
        .run(until)
    })
  }

  return {
    count: () => Number(database.prepare('SELECT count(*) AS count FROM events').get()?.['count']),
    dropOld,
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
