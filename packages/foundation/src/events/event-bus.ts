import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'

/** Which events of a run are read: at most `limit`, of these types or else of all. */
export interface AskedEvents {
  readonly limit: number
  readonly types?: readonly FleetEventBody['type'][] | undefined
}

/**
 * Publishes events to dashboards and API clients. Sequence numbers increase by one for each event and are never used
 * twice; a restart may skip some.
 * Streamed text gets a number but is not stored, because the outcome of the run contains the whole text. So numbers
 * missing from `since` were streamed text, unless they are at or below `droppedUntil`.
 */
export interface EventBus {
  /** Inside a transaction, the event is delivered after the commit, and never after a rollback. */
  publish(body: FleetEventBody): void
  /** Stored events with a greater sequence number, oldest first; at most `limit`. */
  since(seq: number, limit: number): readonly FleetEvent[]
  /** Stored events that name this run, oldest first. */
  ofRun(runId: string, asked: AskedEvents): readonly FleetEvent[]
  /**
   * Of the events up to this number some were deleted: the oldest of each agent with many. A reader that asks `since` a smaller one has missed some and must be
   * informed.
   */
  droppedUntil(): number
  /** The number of the last event. */
  lastSeq(): number
  /**
   * Calls the listener for each event, in order; errors are logged, and the listener stays subscribed. Returns the
   * function that unsubscribes it.
   */
  subscribe(listener: (event: FleetEvent) => void): () => void
}
