import type { Clock } from '@flotilla/protocol/clock'
import { backoffMs } from '@flotilla/protocol/backoff'

/** The first and the longest pause before a connection to a chat platform is opened again, in milliseconds. */
const reconnectBackoff = { firstMs: 250, maxMs: 60_000 } as const
/** A connection shorter than this does not reset the backoff, in milliseconds. */
const shortLivedMs = 10_000

export interface RetryPace {
  /** Called when the connection opened. */
  readonly began: () => void
  /** Called when a connection ended. Resolves when the next attempt may start; at once after a long connection. */
  readonly afterEnd: (signal: AbortSignal) => Promise<void>
  /** Called when a connection failed. Resolves when the next attempt may start, at least `leastMs` later. */
  readonly afterFailure: (signal: AbortSignal, leastMs: number) => Promise<void>
}

/**
 * The backoff of a connection loop. A connection that lasted resets the backoff. An aborted signal
 * ends the waits without an error.
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
