import type { DeliveryState } from '@flotilla/protocol/webhook-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { DeliveryTable } from './delivery-table.ts'

/** For how long rejections of the same kind share a row, in milliseconds. */
const rowMs = 60_000
/** The minimum interval between writes of a count, in milliseconds, so that a flood causes few commits. */
const writeEveryMs = 1000
/** How many kinds of rejections are counted at once. Above this limit all counts are written and cleared. */
const kindsMax = 1000

export interface Refusal {
  readonly hookId: string
  readonly state: Exclude<DeliveryState, 'accepted' | 'skipped'>
  readonly code: string | null
  readonly reason: string
  readonly senderId: string | null
  readonly sizeBytes: number
}

/** The history of deliveries that started no run: one row per kind of rejection and minute, without bodies. */
export interface RefusalStore {
  /** Counts a rejection. Returns true if the rejection started a new row. */
  note(refusal: Refusal): boolean
  /** Writes the counts in memory. A crash loses at most one second. */
  flush(): void
  forget(hookId: string): void
}

interface Counted {
  readonly number: number
  readonly hookId: string
  readonly beganAt: number
  count: number
  writtenCount: number
  writtenAt: number
}

export function createRefusalStore(deps: {
  readonly database: Database
  readonly deliveries: DeliveryTable
  readonly clock: Clock
}): RefusalStore {
  const { deliveries, clock } = deps
  const open = new Map<string, Counted>()

  function write(counted: Counted): void {
    if (counted.count === counted.writtenCount) return
    deliveries.setCount(counted.number, counted.count)
    counted.writtenCount = counted.count
    counted.writtenAt = clock.now()
  }

  function flush(): void {
    deps.database.transaction(() => {
      for (const counted of open.values()) write(counted)
    })
    const now = clock.now()
    for (const [key, counted] of open) if (now - counted.beganAt >= rowMs) open.delete(key)
  }

  return {
    note(refusal) {
      const key = [refusal.hookId, refusal.state, refusal.code ?? '', refusal.reason].join('|')
      const now = clock.now()
      const known = open.get(key)
      if (known && now - known.beganAt < rowMs) {
        known.count++
        if (now - known.writtenAt >= writeEveryMs) write(known)
        return false
      }
      if (known) write(known)
      if (open.size >= kindsMax) {
        flush()
        open.clear()
      }
      const number = deliveries.insert({ ...refusal, way: 'sender', replayOf: null, payload: null, at: now })
      open.set(key, {
        number,
        hookId: refusal.hookId,
        beganAt: now,
        count: 1,
        writtenCount: 1,
        writtenAt: now,
      })
      return true
    },
    flush,
    forget: (hookId) => {
      for (const [key, counted] of open) if (counted.hookId === hookId) open.delete(key)
    },
  }
}
