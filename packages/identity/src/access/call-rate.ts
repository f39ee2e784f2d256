import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

/** Limits the calls per minute of each agent at one API. Counts are in memory and belong to one mesh process. */
export interface CallRate {
  /** Counts the call, or throws the Problem `rate-limited` with the seconds to wait. */
  take(agentId: string): void
  /** Whether the last refusal was the agent's first in this window. */
  isFirstRefusal(agentId: string): boolean
  /** Drops the agent's counts, because the agent is deleted. */
  forget(agentId: string): void
}

/** The window in which an agent's calls are counted for its rate limits, in milliseconds. */
const windowMs = 60_000
/**
 * The maximum number of agents whose calls of one kind are counted, above any fleet's. Beyond it all counts are
 * dropped, which only allows calls.
 */
const windowsMax = 10_000

interface Window {
  startedAt: number
  calls: number
  callsBefore: number
  refusals: number
}

/**
 * Counts calls in two adjacent windows and weighs the older one by its share of the last minute, so that a burst
 * across the boundary counts too. It needs only a few numbers for each agent.
 */
export function createCallRate(deps: {
  readonly clock: Clock
  readonly perMinute: () => number
  /** The name of the counted calls for texts and replies, as in the settings. */
  readonly what?: string
}): CallRate {
  const windows = new Map<string, Window>()

  function windowOf(agentId: string, now: number): Window {
    const known = windows.get(agentId)
    if (!known) {
      if (windows.size >= windowsMax) windows.clear()
      const fresh = { startedAt: now, calls: 0, callsBefore: 0, refusals: 0 }
      windows.set(agentId, fresh)
      return fresh
    }
    // The clock was set back: the count is kept, and the window restarts at the new time.
    if (now < known.startedAt) known.startedAt = now
    const passed = Math.floor((now - known.startedAt) / windowMs)
    if (passed >= 1) {
      known.callsBefore = passed === 1 ? known.calls : 0
      known.calls = 0
      known.refusals = 0
      known.startedAt += passed * windowMs
    }
    return known
  }

  return {
    take(agentId) {
      const now = deps.clock.now()
      const perMinute = deps.perMinute()
      const window = windowOf(agentId, now)
      const elapsedMs = now - window.startedAt
      const recent = window.callsBefore * (1 - elapsedMs / windowMs) + window.calls
      if (recent + 1 > perMinute) {
        window.refusals++
        const retryAfterSeconds = Math.ceil(msUntilFree(window, elapsedMs, perMinute) / 1000)
        const limitedCalls = deps.what === undefined ? 'calls' : `calls of ${deps.what}`
        throw new Problem('rate-limited', {
          detail: `at most ${perMinute} ${limitedCalls} per minute`,
          retryAfterSeconds,
          extra: {
            ...(deps.what === undefined ? {} : { limit: deps.what }),
            per_minute: perMinute,
            retry_after_seconds: retryAfterSeconds,
          },
        })
      }
      window.calls++
    },
    isFirstRefusal: (agentId) => windows.get(agentId)?.refusals === 1,
    forget: (agentId) => void windows.delete(agentId),
  }
}

/**
 * Returns the milliseconds until one more call is allowed, in this window or the next one, if no other call is made
 * before. Pure.
 */
function msUntilFree(
  { calls, callsBefore }: Pick<Window, 'calls' | 'callsBefore'>,
  elapsedMs: number,
  perMinute: number,
): number {
  const room = perMinute - 1
  const here = callsBefore === 0 ? 0 : windowMs * (1 - (room - calls) / callsBefore)
  if (calls <= room && here < windowMs) return Math.max(1, here - elapsedMs)
  const next = calls === 0 ? 0 : windowMs * Math.max(0, 1 - room / calls)
  return Math.max(1, windowMs - elapsedMs + next)
}
