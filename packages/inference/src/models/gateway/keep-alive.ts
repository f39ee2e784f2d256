import type { Clock } from '@flotilla/protocol/clock'
import { createRoster } from '@flotilla/foundation/platform'

/** Calls each watcher that received no data for an interval; one timer serves all watchers. */
export interface KeepAlive {
  /** `onSilent` is called after each whole interval without received data, until `end`. */
  watch(onSilent: () => void): Watched
}

export interface Watched {
  progressed(): void
  end(): void
}

interface Entry {
  isOver: boolean
  heardAt: number
  readonly onSilent: () => void
}

/**
 * All watchers have the same interval, so a new watcher is due after the older ones and the sleep is never shortened.
 * The timer stops one interval after the last watcher has ended, or at `stopped`.
 */
export function createKeepAlive(deps: {
  readonly clock: Clock
  readonly intervalMs: number
  readonly stopped?: AbortSignal
}): KeepAlive {
  const { clock, intervalMs } = deps
  const entries = createRoster<Entry>()
  let isWatching = false

  function ringTheSilent(): number {
    const now = clock.now()
    let dueAt = now + intervalMs
    for (const entry of entries.members()) {
      if (!entry.isOver && now - entry.heardAt >= intervalMs) {
        entry.heardAt = now
        entry.onSilent()
      }
      dueAt = Math.min(dueAt, entry.heardAt + intervalMs)
    }
    return dueAt - now
  }

  async function keepWatching(): Promise<void> {
    isWatching = true
    try {
      for (let waitMs = intervalMs; entries.size() > 0; waitMs = ringTheSilent()) {
        await clock.sleep(Math.max(1, waitMs), deps.stopped)
      }
    } catch {
      // Only `stopped` aborts the sleep; after that no watcher needs a call.
    } finally {
      isWatching = false
    }
  }

  return {
    watch(onSilent) {
      const entry: Entry = { isOver: false, heardAt: clock.now(), onSilent }
      const leave = entries.join(entry)
      if (!isWatching) void keepWatching()
      return {
        progressed: () => {
          entry.heardAt = clock.now()
        },
        end: () => {
          entry.isOver = true
          leave()
        },
      }
    },
  }
}
