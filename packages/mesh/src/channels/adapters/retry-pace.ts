import type { Clock } from '@flotilla/protocol/clock'

const firstPauseMs = 250
const lastPauseMs = 60_000
/** A connection that lasted less has not healed what was wrong, milliseconds. */
const shortLivedMs = 10_000

export interface RetryPace {
  /** The connection stands. */
  readonly began: () => void
  /** It ended: resolves when the next may be made, at once where it had lasted. */
  readonly afterEnd: (signal: AbortSignal) => Promise<void>
  /** It could not be made: resolves when the next may be tried, at least `leastMs` later. */
  readonly afterFailure: (signal: AbortSignal, leastMs: number) => Promise<void>
}

/** How soon a connection is made again: sooner after a long life than after failures. The waits end with the signal, quietly. */
export function createRetryPace(clock: Clock): RetryPace {
  let failures = 0
  let beganAt = 0

  async function pause(signal: AbortSignal, leastMs: number): Promise<void> {
    const pauseMs = failures === 0 ? 0 : Math.min(lastPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 12))
    await clock.sleep(Math.max(pauseMs, leastMs), signal).catch(() => {})
  }

  return {
    began: () => void (beganAt = clock.now()),
    afterEnd: (signal) => {
      failures = clock.now() - beganAt < shortLivedMs ? failures + 1 : 0
      return pause(signal, 0)
    },
    afterFailure: (signal, leastMs) => {
      failures++
      return pause(signal, leastMs)
    },
  }
}
