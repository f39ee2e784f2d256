import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'

/** Delay before a failed loop is restarted, milliseconds. */
export const loopRestartMs = 1000

/**
 * Runs the loop of a module until the signal aborts, and restarts the loop if it rejects: one failure, as on a full
 * disk, must not end it. What the failed loop has started is aborted first, so that nothing runs twice.
 */
export async function keepRunning(
  loop: { readonly name: string; readonly run: (signal: AbortSignal) => Promise<void> },
  deps: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  const { clock, log, signal } = deps
  while (!signal.aborted) {
    const attempt = new AbortController()
    try {
      return await loop.run(AbortSignal.any([signal, attempt.signal]))
    } catch (error) {
      attempt.abort(error)
      if (signal.aborted) return
      log.error({ module: loop.name, err: error }, 'a loop of a module failed; restarting it in a second')
    }
    await clock.sleep(loopRestartMs, signal).catch(() => {})
  }
}
