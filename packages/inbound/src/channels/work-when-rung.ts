import type { Clock } from '@flotilla/protocol/clock'

export interface RungWork {
  /** Wakes the loop, because there may be work to start. */
  wake(): void
  /** Runs `begin` at each wake-up and after the delay that `begin` returned, until the signal aborts. */
  run(begin: () => number, signal: AbortSignal): Promise<void>
}

/** Creates a loop that starts work and then sleeps. `begin` returns for how long to sleep, in milliseconds. */
export function createRungWork(clock: Clock): RungWork {
  let ring: () => void = () => {}
  let hasRung = false
  return {
    wake: () => {
      hasRung = true
      ring()
    },
    run: async (begin, signal) => {
      while (!signal.aborted) {
        hasRung = false
        const sleepMs = begin()
        const rung = new AbortController()
        ring = () => rung.abort()
        if (hasRung) continue
        await clock.sleep(sleepMs, AbortSignal.any([signal, rung.signal])).catch(() => {})
      }
    },
  }
}
