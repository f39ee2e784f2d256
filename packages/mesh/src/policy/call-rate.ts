import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

/** Calls per minute of each agent at one door. In memory, within one mesh. */
export interface CallRate {
  /** Counts the call, or throws the Problem `rate-limited` with the seconds to wait. */
  take(agentId: string): void
}

const windowMs = 60_000
/** Far above any fleet; forgetting all windows only lets calls through. */
const windowsMax = 10_000

interface Window {
  startedAt: number
  calls: number
  callsBefore: number
}

/**
 * Two neighbouring windows, the older weighed by how much of it is still within a minute: a burst at the seam is
 * caught, and the memory is two numbers per agent.
 */
export function createCallRate(deps: { readonly clock: Clock; readonly perMinute: () => number }): CallRate {
  const windows = new Map<string, Window>()

  function windowOf(agentId: string, now: number): Window {
    const known = windows.get(agentId)
    if (!known) {
      if (windows.size >= windowsMax) windows.clear()
      const fresh = { startedAt: now, calls: 0, callsBefore: 0 }
      windows.set(agentId, fresh)
      return fresh
    }
    const passed = Math.floor((now - known.startedAt) / windowMs)
    if (passed >= 1) {
      known.callsBefore = passed === 1 ? known.calls : 0
      known.calls = 0
      known.startedAt += passed * windowMs
    }
    return known
  }

  return {
    take(agentId) {
      const now = deps.clock.now()
      const perMinute = deps.perMinute()
      const window = windowOf(agentId, now)
      const elapsed = (now - window.startedAt) / windowMs
      const recent = window.callsBefore * (1 - elapsed) + window.calls
      if (recent + 1 > perMinute) {
        const retryAfterSeconds = Math.max(1, Math.ceil((window.startedAt + windowMs - now) / 1000))
        throw new Problem('rate-limited', {
          detail: `at most ${perMinute} calls per minute`,
          retryAfterSeconds,
          extra: { per_minute: perMinute, retry_after_seconds: retryAfterSeconds },
        })
      }
      window.calls++
    },
  }
}
