import { setImmediate as breath } from 'node:timers/promises'
import type { Clock } from '@flotilla/protocol/clock'

/** Time that a test moves. Fake of `Clock`. */
export interface HandDrivenClock extends Clock {
  /** Lets time pass, waking every sleeper in order at its own moment, and lets what they began go on. */
  advance(ms: number): Promise<void>
  /** Time leaps, as for a machine that slept: all whose time has passed wake once. */
  leap(ms: number): Promise<void>
  /** Lets everything that needs no time go on. */
  settle(): Promise<void>
}

/** Turns of the event loop after which nothing that needs no time is left. */
const breaths = 6

export function createHandDrivenClock(startsAt = 1_700_000_000_000): HandDrivenClock {
  let now = startsAt
  let sleepers: { at: number; wake: () => void }[] = []

  async function settle(): Promise<void> {
    for (let count = 0; count < breaths; count++) await breath()
  }

  function wakeUntil(time: number): void {
    const due = sleepers.filter((sleeper) => sleeper.at <= time)
    sleepers = sleepers.filter((sleeper) => sleeper.at > time)
    for (const sleeper of due) sleeper.wake()
  }

  return {
    settle,
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason)
          return
        }
        const sleeper = { at: now + ms, wake: resolve }
        sleepers.push(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers = sleepers.filter((other) => other !== sleeper)
          reject(signal.reason)
        })
      }),
    advance: async (ms) => {
      const end = now + ms
      await settle()
      for (;;) {
        const next = Math.min(...sleepers.map((sleeper) => sleeper.at))
        if (next > end) break
        now = Math.max(now, next)
        wakeUntil(now)
        await settle()
      }
      now = end
    },
    leap: async (ms) => {
      now += ms
      wakeUntil(now)
      await settle()
    },
  }
}
