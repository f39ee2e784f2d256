import type { Clock } from '@flotilla/protocol/clock'
import { agentShare } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { ShareFull } from '../../intake/index.ts'
import { createRoster } from '../../platform/index.ts'
import type { Destination } from '../policy/destination.ts'
import { createOpenPlaces } from '../../intake/index.ts'
import type { EgressCounts } from './egress-counts.ts'
import type { ProxyIdentity } from './proxy-gate.ts'

/** Tunnels are polled this often, ms; so long at most does one outlive its run. */
export const tunnelPollMs = 500
/** A tunnel through which nothing moves is closed, ms. */
export const tunnelIdleMaxMs = 120_000
/** One through which nothing moves no longer vouches for its run, ms. */
export const tunnelVouchesMs = 30_000
/** However busy, ms. */
export const tunnelTotalMaxMs = 60 * 60_000
/** Both directions together. */
export const tunnelBytesMax = 4 * 1024 * 1024 * 1024

export interface Traffic {
  /** Bytes towards the far end, and from it. */
  readonly out: number
  readonly in: number
}

/** One connection through the proxy, from the moment it is asked for until both ends are closed. */
export interface Tunnel {
  readonly identity: ProxyIdentity
  readonly destination: Destination
  /** Aborts with the Problem for which the tunnel is cut. */
  readonly signal: AbortSignal
  /** Counts it as open from here on; `traffic` says how much went through so far. */
  measure(traffic: () => Traffic): void
  /** Lets go of its place. Idempotent. */
  close(): void
}

export interface Tunnels {
  /** Problem `rate-limited` when there are too many. */
  reserve(identity: ProxyIdentity, destination: Destination): Tunnel
  /** Cuts those of one agent, or all. */
  cut(reason: Problem, agentId?: string): void
  open(): number
  /** Looks after what is open until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface TunnelsDeps {
  readonly clock: Clock
  readonly counts: Pick<EgressCounts, 'opened' | 'moved'>
  /** False once the token or the run is over. */
  readonly isLive: (identity: ProxyIdentity) => boolean
  /** Keeps the run's lease alive; returns the way to stop. */
  readonly holdLease: (run: ProxyIdentity['caller']['run']) => () => void
}

interface HeldTunnel extends Tunnel {
  readonly startedAt: number
  readonly cutting: AbortController
  traffic: () => Traffic
  counted: Traffic
  movedAt: number
  releaseLease: (() => void) | null
}

export function createTunnels(deps: TunnelsDeps): Tunnels {
  const { clock, counts } = deps
  const open = createRoster<HeldTunnel>()
  const places = createOpenPlaces(agentShare.tunnels)

  function count(tunnel: HeldTunnel): void {
    const { counted } = tunnel
    const now = tunnel.traffic()
    if (now.out === counted.out && now.in === counted.in) return
    tunnel.counted = now
    tunnel.movedAt = clock.now()
    const moved = { out: now.out - counted.out, in: now.in - counted.in }
    counts.moved(tunnel.identity.caller.agentId, tunnel.destination.host, moved)
  }

  function poll(tunnel: HeldTunnel): void {
    count(tunnel)
    const end = endOf(tunnel, { now: clock.now(), isLive: deps.isLive(tunnel.identity) })
    if (end !== null) {
      tunnel.cutting.abort(end)
      return
    }
    const vouches = clock.now() - tunnel.movedAt < tunnelVouchesMs
    if (vouches) tunnel.releaseLease ??= deps.holdLease(tunnel.identity.caller.run)
    else release(tunnel)
  }

  return {
    open: open.size,
    reserve: (identity, destination) => {
      const { agentId } = identity.caller
      const leave = places.enter(agentId)
      if (typeof leave === 'string') throw tooManyTunnels(leave)
      const cutting = new AbortController()
      const now = clock.now()
      const tunnel: HeldTunnel = {
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
          tunnel.traffic = traffic
          counts.opened(agentId, destination.host)
        },
        close: () => {
          if (!end()) return
          leave()
          count(tunnel)
          release(tunnel)
        },
      }
      const end = open.join(tunnel)
      return tunnel
    },
    cut: (reason, agentId) => {
      for (const tunnel of open.members()) {
        if (agentId === undefined || tunnel.identity.caller.agentId === agentId) tunnel.cutting.abort(reason)
      }
    },
    run: async (signal) => {
      while (!signal.aborted) {
        for (const tunnel of open.members()) poll(tunnel)
        await clock.sleep(tunnelPollMs, signal).catch(() => {})
      }
    },
  }
}

const nothing: Traffic = { out: 0, in: 0 }

function tooManyTunnels(full: ShareFull): Problem {
  return new Problem('rate-limited', {
    detail:
      full === 'agent'
        ? `at most ${agentShare.tunnels.perAgentMax} connections of one agent go through the proxy at once`
        : 'other agents have so many connections open that there is no room for more of this one',
    retryAfterSeconds: 1,
  })
}

function release(tunnel: HeldTunnel): void {
  tunnel.releaseLease?.()
  tunnel.releaseLease = null
}

/** Why a tunnel must end now, or null. Pure. */
export function endOf(
  tunnel: { readonly startedAt: number; readonly movedAt: number; readonly counted: Traffic },
  at: { readonly now: number; readonly isLive: boolean },
): Problem | null {
  if (!at.isLive) return new Problem('cancelled', { detail: 'the run that this belonged to is over' })
  if (at.now - tunnel.movedAt >= tunnelIdleMaxMs) {
    return new Problem('upstream-timeout', { detail: `nothing moved for ${tunnelIdleMaxMs / 1000} s` })
  }
  if (at.now - tunnel.startedAt >= tunnelTotalMaxMs) {
    return new Problem('upstream-timeout', { detail: `open for ${tunnelTotalMaxMs / 60_000} minutes` })
  }
  if (tunnel.counted.out + tunnel.counted.in > tunnelBytesMax) {
    return new Problem('body-too-large', { detail: `more than ${tunnelBytesMax} bytes` })
  }
  return null
}
