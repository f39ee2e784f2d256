import { systemClock } from '../../packages/mesh/src/platform/system-clock.ts'
import { patient } from './patience.ts'

/** Shorter sleeps are pauses between looks, which nobody is cut off by. */
const shortestMs = 5000

/**
 * Deadlines of production, such as ten seconds for an answer of a chain, are for a machine that works at its pace. In a mesh within
 * this process they lie as much further out as those of tests do. Gives what puts them back.
 */
export function stretchDeadlines(): () => void {
  const { sleep } = systemClock
  systemClock.sleep = (ms, signal) => sleep(ms < shortestMs ? ms : patient(ms), signal)
  return () => {
    systemClock.sleep = sleep
  }
}
