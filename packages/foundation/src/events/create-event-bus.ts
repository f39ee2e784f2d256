import type { Clock } from '@flotilla/protocol/clock'
import { isPassing } from '@flotilla/protocol/fleet-event'
import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { Log } from '../platform/index.ts'
import { storageFaultOf } from '../storage/index.ts'
import type { Database } from '../storage/index.ts'
import type { EventBus } from './event-bus.ts'
import { createEventTable } from './event-table.ts'

/** How many events are kept. */
const keptMax = 10_000
/** How many of the newest events are kept whichever agent they are about; agents share the rest. */
const newestMax = 5000
/** Old events are deleted once per this many new ones. */
const trimEvery = 256
/**
 * How many numbers one write reserves, so that a piece of streamed text costs no write and no number is used twice.
 */
const reservedNumbers = 1000

/** Creates the event bus on its table; stored events are rows of the caller's transaction. */
export function createEventBus({
  database,
  clock,
  log,
}: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}): EventBus {
  const table = createEventTable(database)
  const listeners = new Set<(event: FleetEvent) => void>()
  let reserved = table.reservedUntil()
  let last = reserved
  /** The number of stored events; null if the rows must be counted again. */
  let kept: number | null = null
  let untilTrim = 1
  let dropped = 0

  /** Restores the counters after a rollback; rolled-back events were never published. */
  function followRollback(): void {
    const before = { last, reserved }
    database.afterRollback(() => {
      last = Math.min(last, before.last)
      reserved = Math.min(reserved, before.reserved)
      kept = null
    })
  }

  function keep(event: FleetEvent): void {
    kept = (kept ?? table.count()) + 1
    table.insert(event)
    untilTrim--
    if (untilTrim > 0) return
    untilTrim = trimEvery
    if (kept <= keptMax) return
    table.dropOld(kept - newestMax, keptMax - newestMax)
    kept = keptMax
  }

  function notifyListeners(event: FleetEvent): void {
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        log.error(
          { err: error, seq: event.seq },
          'a subscriber failed to process an event; the others received it',
        )
      }
    }
  }

  function publish(body: FleetEventBody): void {
    followRollback()
    const event: FleetEvent = { seq: last + 1, at: clock.now(), body }
    if (event.seq > reserved) {
      table.reserve(event.seq + reservedNumbers)
      reserved = event.seq + reservedNumbers
    }
    last = event.seq
    if (!isPassing(body)) keep(event)
    database.afterCommit(() => notifyListeners(event))
  }

  /** Observers must never stop the work: an event that cannot be written is dropped, counted, and reported later. */
  function publishOrDrop(body: FleetEventBody): void {
    try {
      if (isPassing(body)) publish(body)
      else database.transaction(() => publish(body))
    } catch (error) {
      if (storageFaultOf(error) === null) throw error
      dropped += 1
      return
    }
    if (dropped === 0) return
    log.warn({ dropped }, 'dropped events: failed to write them')
    dropped = 0
  }

  return {
    publish: publishOrDrop,
    since: (seq, limit) => table.after(seq, limit),
    ofRun: (runId, asked) => table.ofRun(runId, asked),
    droppedUntil: () => table.droppedUntil(),
    lastSeq: () => last,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
