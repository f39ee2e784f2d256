import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'

/**
 * What people's surfaces listen to. Sequence numbers rise by one per event and are never given twice; over a
 * restart some may be skipped.
 *
 * Streamed text is numbered and told, and not kept: the whole text stands in the run's outcome. So numbers that
 * `since` leaves out were streamed text, unless they are at or below `droppedUntil`.
 */
export interface EventBus {
  /** Inside a transaction the event goes out after the commit, and never after a roll-back. */
  publish(body: FleetEventBody): void
  /** Kept events with a greater sequence number, oldest first; at most `limit`. */
  since(seq: number, limit: number): readonly FleetEvent[]
  /** Kept events that name this run, oldest first; at most `limit`. */
  ofRun(runId: string, limit: number): readonly FleetEvent[]
  /** Events up to this number are no longer kept. Who asks `since` a smaller one has missed some and must be told. */
  droppedUntil(): number
  /** Number of the last event. */
  lastSeq(): number
  /** Called for each event in order; a listener that throws is logged and kept. Returns the way to stop. */
  subscribe(listener: (event: FleetEvent) => void): () => void
}
