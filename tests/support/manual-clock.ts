import type { Clock } from '@flotilla/protocol/clock'

export interface ManualClock extends Clock {
  /** Moves time on and wakes, in their order, those whose time has come. */
  advance(ms: number): Promise<void>
  /** How many are asleep. */
  sleepers(): number
}

interface Sleeper {
  readonly dueAt: number
  readonly wake: () => void
}

/** Time that moves by hand. Starts at the given moment. */
export function createManualClock(startAt: string = '2026-11-21T12:00:00Z'): ManualClock {
  let now = Date.parse(startAt)
  let asleep: Sleeper[] = []

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason)
          return
        }
        const sleeper: Sleeper = {
          dueAt: now + ms,
          wake: () => {
            signal?.removeEventListener('abort', giveUp)
            resolve()
          },
        }
        const giveUp = () => {
          asleep = asleep.filter((other) => other !== sleeper)
          reject(signal?.reason)
        }
        signal?.addEventListener('abort', giveUp, { once: true })
        asleep.push(sleeper)
      }),
    async advance(ms) {
      now += ms
      const due = asleep.filter((sleeper) => sleeper.dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt)
      asleep = asleep.filter((sleeper) => sleeper.dueAt > now)
      for (const sleeper of due) sleeper.wake()
      // What was woken goes on in microtasks and then in turns of the loop.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
    sleepers: () => asleep.length,
  }
}
