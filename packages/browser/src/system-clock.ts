import type { Clock } from '@flotilla/protocol/clock'
import { setTimeout } from 'node:timers/promises'

/** The one place that reads this machine's time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
}
