import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '../../packages/mesh/src/events/event-bus.ts'
import type { Journal, JournalEntry } from '../../packages/mesh/src/journal/journal.ts'

/** A journal that keeps what it is told. */
export function collectJournal(): Journal & { readonly entries: JournalEntry[] } {
  const entries: JournalEntry[] = []
  return { entries, append: (entry) => void entries.push(entry) }
}

/** An event bus that keeps what is published and tells nobody. */
export function collectEvents(): Pick<EventBus, 'publish'> & { readonly bodies: FleetEventBody[] } {
  const bodies: FleetEventBody[] = []
  return { bodies, publish: (body) => void bodies.push(body) }
}

/** Ids that count up: `run_1`, `call_2`. */
export function countingIds(): (prefix: string) => string {
  let next = 0
  return (prefix) => `${prefix}_${++next}`
}
