import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../platform/index.ts'

/** A loop that broke off begins anew after this time, milliseconds. */
export const loopRestartMs = 1000

/**
 * Runs the loop of a module until the signal. One that rejects is begun anew: a tick that failed, as on a full disk, must
 * not stop the next. Whatever else the failed one has begun is aborted first, so that nothing runs twice.
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
