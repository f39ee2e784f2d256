import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'

/** What people's surfaces listen to. Sequence numbers rise by one per event and survive a restart. */
export interface EventBus {
  /** Inside a transaction the event goes out after the commit, and never after a roll-back. */
  publish(body: FleetEventBody): void
  /** Kept events with a greater sequence number, oldest first; at most `limit`. */
  since(seq: number, limit: number): readonly FleetEvent[]
  /** Called for each event in order; a listener that throws is logged and kept. Returns the way to stop. */
  subscribe(listener: (event: FleetEvent) => void): () => void
}
