import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Destination } from '../policy/destination.ts'
import type { EgressCounts } from './egress-counts.ts'
import type { ProxyIdentity } from './proxy-gate.ts'

/** Passages of one agent, and of all, at once: each holds two sockets. */
export const passagesPerAgentMax = 64
export const passagesMax = 1024
/** Passages are looked at this often, ms; so long at most does one outlive its run. */
export const passageLookMs = 500
/** A passage through which nothing moves is closed, ms. */
export const passageIdleMaxMs = 120_000
/** One through which nothing moves no longer vouches for its run, ms. */
export const passageVouchesMs = 30_000
/** However busy, ms. */
export const passageTotalMaxMs = 60 * 60_000
/** Both directions together. */
export const passageBytesMax = 4 * 1024 * 1024 * 1024

export interface Traffic {
  /** Bytes towards the far end, and from it. */
  readonly out: number
  readonly in: number
}

/** One connection through the proxy, from the moment it is asked for until both ends are closed. */
export interface Passage {
  readonly identity: ProxyIdentity
  readonly destination: Destination
  /** Aborts with the Problem for which the passage is cut. */
  readonly signal: AbortSignal
  /** Counts it as open from here on; `traffic` says how much went through so far. */
  measure(traffic: () => Traffic): void
  /** Lets go of its place. Idempotent. */
  close(): void
}

export interface Passages {
  /** Problem `rate-limited` when there are too many. */
  reserve(identity: ProxyIdentity, destination: Destination): Passage
  /** Cuts those of one agent, or all. */
  cut(reason: Problem, agentId?: string): void
  open(): number
  /** Looks after what is open until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface PassagesDeps {
  readonly clock: Clock
  readonly counts: Pick<EgressCounts, 'opened' | 'moved'>
  /** False once the token or the run is over. */
  readonly isLive: (identity: ProxyIdentity) => boolean
  /** Keeps the run's lease alive; returns the way to stop. */
  readonly holdLease: (run: ProxyIdentity['caller']['run']) => () => void
}

interface OpenPassage extends Passage {
  readonly startedAt: number
  readonly cutting: AbortController
  traffic: () => Traffic
  counted: Traffic
  movedAt: number
  releaseLease: (() => void) | null
}

export function createPassages(deps: PassagesDeps): Passages {
  const { clock, counts } = deps
  const open = new Set<OpenPassage>()
  const perAgent = new Map<string, number>()

  function place(agentId: string, step: 1 | -1): void {
    const count = (perAgent.get(agentId) ?? 0) + step
    if (count > 0) perAgent.set(agentId, count)
    else perAgent.delete(agentId)
  }

  function count(passage: OpenPassage): void {
    const { counted } = passage
    const now = passage.traffic()
    if (now.out === counted.out && now.in === counted.in) return
    passage.counted = now
    passage.movedAt = clock.now()
    const moved = { out: now.out - counted.out, in: now.in - counted.in }
    counts.moved(passage.identity.caller.agentId, passage.destination.host, moved)
  }

  function look(passage: OpenPassage): void {
    count(passage)
    const end = endOf(passage, { now: clock.now(), isLive: deps.isLive(passage.identity) })
    if (end !== null) {
      passage.cutting.abort(end)
      return
    }
    const vouches = clock.now() - passage.movedAt < passageVouchesMs
    if (vouches) passage.releaseLease ??= deps.holdLease(passage.identity.caller.run)
    else release(passage)
  }

  return {
    open: () => open.size,
    reserve: (identity, destination) => {
      const { agentId } = identity.caller
      if (open.size >= passagesMax || (perAgent.get(agentId) ?? 0) >= passagesPerAgentMax) {
        throw new Problem('rate-limited', {
          detail: `at most ${passagesPerAgentMax} connections of one agent go through the proxy at once, ${passagesMax} of all`,
          retryAfterSeconds: 1,
        })
      }
      const cutting = new AbortController()
      const now = clock.now()
      const passage: OpenPassage = {
        identity,
        destination,
        signal: cutting.signal,
        startedAt: now,
        cutting,
        traffic: () => nothing,
        counted: nothing,
        movedAt: now,
        releaseLease: deps.holdLease(identity.caller.run),
        measure: (traffic) => {
          passage.traffic = traffic
          counts.opened(agentId, destination.host)
        },
        close: () => {
          if (!open.delete(passage)) return
          place(agentId, -1)
          count(passage)
          release(passage)
        },
      }
      open.add(passage)
      place(agentId, 1)
      return passage
    },
    cut: (reason, agentId) => {
      for (const passage of open) {
        if (agentId === undefined || passage.identity.caller.agentId === agentId)
          passage.cutting.abort(reason)
      }
    },
    run: async (signal) => {
      while (!signal.aborted) {
        for (const passage of open) look(passage)
        await clock.sleep(passageLookMs, signal).catch(() => {})
      }
    },
  }
}

const nothing: Traffic = { out: 0, in: 0 }

function release(passage: OpenPassage): void {
  passage.releaseLease?.()
  passage.releaseLease = null
}

/** Why a passage must end now, or null. Pure. */
export function endOf(
  passage: { readonly startedAt: number; readonly movedAt: number; readonly counted: Traffic },
  at: { readonly now: number; readonly isLive: boolean },
): Problem | null {
  if (!at.isLive) return new Problem('cancelled', { detail: 'the run that this belonged to is over' })
  if (at.now - passage.movedAt >= passageIdleMaxMs) {
    return new Problem('upstream-timeout', { detail: `nothing moved for ${passageIdleMaxMs / 1000} s` })
  }
  if (at.now - passage.startedAt >= passageTotalMaxMs) {
    return new Problem('upstream-timeout', { detail: `open for ${passageTotalMaxMs / 60_000} minutes` })
  }
  if (passage.counted.out + passage.counted.in > passageBytesMax) {
    return new Problem('body-too-large', { detail: `more than ${passageBytesMax} bytes` })
  }
  return null
}
