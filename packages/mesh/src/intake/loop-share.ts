import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { LoopTurns } from './loop-turns.ts'

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
  /**
   * Null while the agent has taken little of the loop lately, else what to await before its next work: other agents and
   * people are served first.
   */
  turn(agentId: string): Promise<void> | null
  /**
   * Does work that pauses at each `yield`, a few milliseconds at a time, each of which is charged and waits for its turn.
   * With `refuse` it throws the Problem `rate-limited` between two steps once the share is used up. Work for people or the
   * mesh itself has no agent: it takes turns and is not charged.
   */
  inSteps<T>(agentId: string | null, work: StepWork<T>, whenUsedUp: 'refuse' | 'finish'): Promise<T>
  /** When the agent is deleted. */
  forget(agentId: string): void
}

/** Work that can pause at each `yield`; between two of them it takes far less than a millisecond. */
export type StepWork<T> = Generator<unknown, T, void>

export interface LoopShareDeps {
  readonly clock: Clock
  /** Time that this thread has had on the processor, milliseconds: a busy machine takes nothing from an agent. */
  readonly cpuMs: () => number
  readonly msPerMinute: number
  readonly turns: LoopTurns
  /** In words for whoever is refused. */
  readonly what: string
}

const minuteMs = 60_000
/** What an agent may take of the loop in one go before it waits for its turn, and how much of that is back after a millisecond. */
const burstMs = 50
const burstBackPerMs = 0.5
/** Longest step of work that can pause, milliseconds on the processor. */
const stepMs = 5
/** People and the mesh itself take turns as one. */
const nobodysWork = ''
/** Far above any fleet; forgetting them all only lets calls through. */
const agentsMax = 10_000

/** A share that is used up comes back evenly, all of it within a minute. */
export function createLoopShare(deps: LoopShareDeps): LoopShare {
  const { clock, cpuMs, msPerMinute } = deps
  let isSpending = false
  const used = new Map<string, Used>()

  function usedOf(agentId: string): Used {
    const now = clock.now()
    const known = used.get(agentId)
    if (known === undefined) {
      if (used.size >= agentsMax) used.clear()
      const fresh = { ms: 0, lately: 0, at: now }
      used.set(agentId, fresh)
      return fresh
    }
    const passed = Math.max(0, now - known.at)
    known.ms = Math.max(0, known.ms - (passed * msPerMinute) / minuteMs)
    known.lately = Math.max(0, known.lately - passed * burstBackPerMs)
    known.at = now
    return known
  }

  function waitMs(agentId: string): number {
    const over = usedOf(agentId).ms - msPerMinute
    return over <= 0 ? 0 : Math.ceil((over * minuteMs) / msPerMinute)
  }

  function require(agentId: string): void {
    const wait = waitMs(agentId)
    if (wait === 0) return
    throw new Problem('rate-limited', {
      detail: `${deps.what} took more than ${msPerMinute} ms of the mesh's time in a minute; send less, or less often`,
      retryAfterSeconds: Math.ceil(wait / 1000),
      extra: { loop_ms_per_minute: msPerMinute },
    })
  }

  function spend<T>(agentId: string, work: () => T): T {
    // Charged once, by the outermost.
    if (isSpending) return work()
    isSpending = true
    const before = cpuMs()
    try {
      return work()
    } finally {
      isSpending = false
      const tookMs = Math.max(0, cpuMs() - before)
      const own = usedOf(agentId)
      own.ms += tookMs
      own.lately += tookMs
    }
  }

  function step<T>(work: StepWork<T>): IteratorResult<unknown, T> {
    const until = cpuMs() + stepMs
    for (;;) {
      const done = work.next()
      if (done.done === true || cpuMs() >= until) return done
    }
  }

  return {
    waitMs,
    require,
    spend,
    turn: (agentId) => (usedOf(agentId).lately <= burstMs ? null : deps.turns.next(agentId)),
    async inSteps(agentId, work, whenUsedUp) {
      for (;;) {
        const done = agentId === null ? step(work) : spend(agentId, () => step(work))
        if (done.done === true) return done.value
        if (agentId !== null && whenUsedUp === 'refuse') require(agentId)
        await deps.turns.next(agentId ?? nobodysWork)
      }
    },
    forget: (agentId) => void used.delete(agentId),
  }
}

interface Used {
  /** Of its share of a minute, milliseconds. */
  ms: number
  /** Of what it may take in one go, milliseconds. */
  lately: number
  /** Timestamp of both. */
  at: number
}
