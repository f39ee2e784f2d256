import type { Clock } from '@flotilla/protocol/clock'
import { backoffMs } from '@flotilla/protocol/backoff'

const reconnectBackoff = { firstMs: 250, maxMs: 60_000 } as const
/** A shorter connection does not reset the backoff, in milliseconds. */
const shortLivedMs = 10_000

export interface RetryPace {
  /** The connection is open. */
  readonly began: () => void
  /** The connection ended. Resolves when the next attempt may start, immediately if the connection had lasted. */
  readonly afterEnd: (signal: AbortSignal) => Promise<void>
  /** The connection failed. Resolves when the next attempt may start, at least `leastMs` later. */
  readonly afterFailure: (signal: AbortSignal, leastMs: number) => Promise<void>
}

/**
 * Backoff for connections. It is reset after a connection that lasted. An aborted signal ends the waits without an
 * error.
 */
export function createRetryPace(clock: Clock): RetryPace {
  let failures = 0
  let beganAt = 0

  async function pause(signal: AbortSignal, leastMs: number): Promise<void> {
    const pauseMs = failures === 0 ? 0 : backoffMs(reconnectBackoff, failures)
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
