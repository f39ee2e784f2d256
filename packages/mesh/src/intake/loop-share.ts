import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

/**
 * What of the mesh's one loop each agent has taken, by the time that its calls kept the processor. All other agents and
 * people wait for as long.
 */
export interface LoopShare {
  /** Throws the Problem `rate-limited` where the agent has used its share, with when there is some again. */
  require(agentId: string): void
  /** Milliseconds until the agent has some of its share again; 0 while it has. */
  waitMs(agentId: string): number
  /** Does what returns at once, and charges what it took. */
  spend<T>(agentId: string, work: () => T): T
  /** When the agent is deleted. */
  forget(agentId: string): void
}

export interface LoopShareDeps {
  readonly clock: Clock
  /** Time that this thread has had on the processor, milliseconds: a busy machine takes nothing from an agent. */
  readonly cpuMs: () => number
  readonly msPerMinute: number
  /** In words for whoever is refused. */
  readonly what: string
}

const minuteMs = 60_000
/** Far above any fleet; forgetting them all only lets calls through. */
const agentsMax = 10_000

/** A share that is used up comes back evenly, all of it within a minute. */
export function createLoopShare(deps: LoopShareDeps): LoopShare {
  const { clock, cpuMs, msPerMinute } = deps
  let isSpending = false
  const used = new Map<string, { ms: number; at: number }>()

  function usedOf(agentId: string): { ms: number; at: number } {
    const now = clock.now()
    const known = used.get(agentId)
    if (known === undefined) {
      if (used.size >= agentsMax) used.clear()
      const fresh = { ms: 0, at: now }
      used.set(agentId, fresh)
      return fresh
    }
    const passed = Math.max(0, now - known.at)
    known.ms = Math.max(0, known.ms - (passed * msPerMinute) / minuteMs)
    known.at = now
    return known
  }

  function waitMs(agentId: string): number {
    const over = usedOf(agentId).ms - msPerMinute
    return over <= 0 ? 0 : Math.ceil((over * minuteMs) / msPerMinute)
  }

  return {
    waitMs,
    require(agentId) {
      const wait = waitMs(agentId)
      if (wait === 0) return
      throw new Problem('rate-limited', {
        detail: `${deps.what} took more than ${msPerMinute} ms of the mesh's time in a minute; send less, or less often`,
        retryAfterSeconds: Math.ceil(wait / 1000),
        extra: { loop_ms_per_minute: msPerMinute },
      })
    },
    spend(agentId, work) {
      // Charged once, by the outermost.
      if (isSpending) return work()
      isSpending = true
      const before = cpuMs()
      try {
        return work()
      } finally {
        isSpending = false
        usedOf(agentId).ms += Math.max(0, cpuMs() - before)
      }
    },
    forget: (agentId) => void used.delete(agentId),
  }
}
