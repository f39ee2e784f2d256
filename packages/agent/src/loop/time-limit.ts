import type { Clock } from '@flotilla/protocol/clock'

interface TimeLimit {
  /** Aborts with the reason when the time is over. */
  readonly signal: AbortSignal
  /** Releases the timer. Must always be awaited, even after the time is over. */
  end(): Promise<void>
}

/** Bounds work in time, in milliseconds; a value of zero or less means that no time is left. */
export function createTimeLimit(clock: Clock, leftMs: number, reason: Error): TimeLimit {
  const over = new AbortController()
  const timer = new AbortController()
  const slept = clock.sleep(Math.max(0, leftMs), timer.signal).then(
    () => over.abort(reason),
    () => undefined,
  )
  return {
    signal: over.signal,
    end: async () => {
      timer.abort()
      await slept
    },
  }
}
