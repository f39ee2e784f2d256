import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '../../packages/foundation/src/events/event-bus.ts'
import type { Journal, JournalEntry } from '../../packages/foundation/src/journal/journal.ts'

/** An audit log that collects its entries in memory. */
export function collectJournal(): Journal & { readonly entries: JournalEntry[] } {
  const entries: JournalEntry[] = []
  return { entries, append: (entry) => void entries.push(entry) }
}

/** An event bus that collects events in memory and has no subscribers. */
export function collectEvents(): Pick<EventBus, 'publish'> & { readonly bodies: FleetEventBody[] } {
  const bodies: FleetEventBody[] = []
  return { bodies, publish: (body) => void bodies.push(body) }
}

/** Returns ids that count up: `run_1`, `call_2`. */
export function countingIds(): (prefix: string) => string {
  let next = 0
  return (prefix) => `${prefix}_${++next}`
}
