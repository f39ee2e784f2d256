import type { Clock } from '../clock.ts'

/** A clock that a test advances; the only fake of `Clock`. */
export interface ManualClock extends Clock {
  /** Advances the time, waking every sleeper in order at its own time, and lets the started work continue. */
  advance(ms: number): Promise<void>
  /** The time jumps, as on a machine that was suspended: all sleepers whose time has passed wake once, in order. */
  leap(ms: number): Promise<void>
  /** Lets all work that needs no time continue. */
  settle(): Promise<void>
  /** Number of sleepers. */
  sleepers(): number
  /** Durations of the sleeps that passed by themselves, milliseconds. */
  readonly passed: readonly number[]
}

interface Sleeper {
  readonly dueAt: number
  readonly wake: () => void
}

/** Turns of the event loop after which no work is left that needs no time. */
const settlingTurns = 20

/** A sleep of at most `passesMs` passes by itself, for polls that no test wants to control. */
export function createManualClock(
  startsAt: string | number = '2026-11-21T12:00:00Z',
  { passesMs = 0 }: { readonly passesMs?: number } = {},
): ManualClock {
  let now = typeof startsAt === 'string' ? Date.parse(startsAt) : startsAt
  let asleep: readonly Sleeper[] = []
  const passed: number[] = []

  async function settle(): Promise<void> {
    for (let turn = 0; turn < settlingTurns; turn++) await aTurn()
  }

  function wakeUntil(time: number): void {
    const due = asleep.filter(({ dueAt }) => dueAt <= time).toSorted((one, other) => one.dueAt - other.dueAt)
    asleep = asleep.filter(({ dueAt }) => dueAt > time)
    for (const { wake } of due) wake()
  }

  async function pass(ms: number, signal: AbortSignal | undefined): Promise<void> {
    passed.push(ms)
    await aTurn()
    signal?.throwIfAborted()
    now += ms
  }

  return {
    settle,
    passed,
    now: () => now,
    sleepers: () => asleep.length,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      if (ms <= passesMs) return pass(ms, signal)
      return new Promise((resolve, reject) => {
        const sleeper: Sleeper = {
          dueAt: now + ms,
          wake: () => {
            signal?.removeEventListener('abort', giveUp)
            resolve()
          },
        }
        const giveUp = (): void => {
          asleep = asleep.filter((other) => other !== sleeper)
          reject(signal?.reason)
        }
        signal?.addEventListener('abort', giveUp, { once: true })
        asleep = [...asleep, sleeper]
      })
    },
    advance: async (ms) => {
      const end = now + ms
      await settle()
      for (;;) {
        const next = Math.min(...asleep.map(({ dueAt }) => dueAt))
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

function aTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
