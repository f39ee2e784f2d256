import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { patient } from './patience.ts'

/** Shorter sleeps are polling intervals and not deadlines, so they are not extended. */
const shortestMs = 5000

/**
 * Production deadlines, such as ten seconds for the answer of a chain, assume a machine at normal speed. This extends
 * them by `patience` for a mesh within this process. Returns the function that restores them.
 */
export function stretchDeadlines(): () => void {
  const { sleep } = systemClock
  systemClock.sleep = (ms, signal) => sleep(ms < shortestMs ? ms : patient(ms), signal)
  return () => {
    systemClock.sleep = sleep
  }
}
