import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { LoopTurns } from './loop-turns.ts'

/**
 * Limits how much of the event loop each agent may use, by the processor time of its calls, during which other agents
 * and people wait.
 */
export interface LoopShare {
  /** Throws the problem `rate-limited`, with the time to retry, if the agent has used up its share. */
  require(agentId: string): void
  /** Milliseconds until the agent has some of its share again; 0 if it has some now. */
  waitMs(agentId: string): number
  /** Runs synchronous work and charges its processor time. */
  spend<T>(agentId: string, work: () => T): T
  /**
   * Returns null if the agent has used little of the loop lately; otherwise a promise to await before its next work,
   * so that other agents and people are served first.
   */
  turn(agentId: string): Promise<void> | null
  /**
   * Runs work that pauses at each `yield`, a few milliseconds at a time; each step is charged and waits for its turn.
   * With `refuse` it throws the problem `rate-limited` between two steps once the share is used up. Work for people
   * or the mesh has no agent: it takes turns and is not charged.
   */
  inSteps<T>(agentId: string | null, work: StepWork<T>, whenUsedUp: 'refuse' | 'finish'): Promise<T>
  /** Called when the agent is deleted. */
  forget(agentId: string): void
}

/** Work that can pause at each `yield`; it takes far less than a millisecond between two of them. */
export type StepWork<T> = Generator<unknown, T, void>

/** Does all of the work without a pause, for callers that need the result at once. */
export function finished<T>(work: StepWork<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

export interface LoopShareDeps {
  readonly clock: Clock
  /**
   * Processor time of this thread in milliseconds, so that load of other processes does not count against an agent.
   */
  readonly cpuMs: () => number
  readonly msPerMinute: number
  readonly turns: LoopTurns
  /** Names the resource in the text of a refusal. */
  readonly what: string
}

const minuteMs = 60_000
/**
 * How long the event loop may work for an agent before its calls wait for their turn, in milliseconds, and how much
 * of that burst is restored in a millisecond. Collections of garbage and writes to sockets are not charged, so calls
 * one after the other would never use up a burst that is restored half as fast as time passes.
 */
const burstMs = 25
/** How much of a used burst is restored per elapsed millisecond, in milliseconds. */
const burstBackPerMs = 0.1
/** Longest step of work that can pause, in milliseconds of processor time. */
const stepMs = 5
/** People and the mesh itself take turns as one worker. */
const unchargedWorker = ''
/** The maximum number of stored shares, far above any fleet. Beyond it all are dropped, which only allows calls. */
const agentsMax = 10_000

/** A used share is restored evenly, all of it within a minute. */
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
      detail: `${deps.what} took more than ${msPerMinute} ms of processor time of the mesh within a minute; send smaller requests, or fewer`,
      retryAfterSeconds: Math.ceil(wait / 1000),
      extra: { loop_ms_per_minute: msPerMinute },
    })
  }

  function spend<T>(agentId: string, work: () => T): T {
    // Nested work is charged once, by the outermost call.
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
        await deps.turns.next(agentId ?? unchargedWorker)
      }
    },
    forget: (agentId) => void used.delete(agentId),
  }
}

interface Used {
  /** The used part of the agent's share per minute that is not restored yet, in milliseconds. */
  ms: number
  /** The used part of the agent's burst that is not restored yet, in milliseconds. */
  lately: number
  /** The time at which `ms` and `lately` were computed. */
  at: number
}
