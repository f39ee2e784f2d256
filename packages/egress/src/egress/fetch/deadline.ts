import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

/** Returns a signal that aborts after `timeoutMs` (`upstream-timeout`) or with `outer`. Call `clear` at the end. */
export function startDeadline(
  clock: Clock,
  timeoutMs: number,
  outer: AbortSignal,
): { readonly signal: AbortSignal; clear(): void } {
  const expiring = new AbortController()
  const cleared = new AbortController()
  clock.sleep(timeoutMs, cleared.signal).then(
    () =>
      expiring.abort(
        new Problem('upstream-timeout', { detail: `no complete answer within ${timeoutMs} ms` }),
      ),
    () => {},
  )
  return { signal: AbortSignal.any([outer, expiring.signal]), clear: () => cleared.abort() }
}
