import type { Clock } from '@flotilla/protocol/clock'
import { setTimeout } from 'node:timers/promises'

/** The only code that reads the system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
}
