import type { Clock } from '../clock.ts'

/** Time that a test moves. The one fake of `Clock`. */
export interface ManualClock extends Clock {
  /** Lets time pass, waking every sleeper in order at its own moment, and lets what they began go on. */
  advance(ms: number): Promise<void>
  /** Time leaps, as for a machine that slept: all whose time has passed wake once, in their order. */
  leap(ms: number): Promise<void>
  /** Lets everything that needs no time go on. */
  settle(): Promise<void>
  /** How many are asleep. */
  sleepers(): number
  /** Sleeps that passed by themselves, milliseconds each. */
  readonly passed: readonly number[]
}

interface Sleeper {
  readonly dueAt: number
  readonly wake: () => void
}

/** Turns of the event loop after which nothing that needs no time is left. */
const settlingTurns = 20

/** `passesMs`: a sleep no longer than this passes by itself, for polls that no test wants to drive. */
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
