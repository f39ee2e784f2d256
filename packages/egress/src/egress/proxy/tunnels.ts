import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { ShareFull } from '@flotilla/foundation/intake'
import { createRoster } from '@flotilla/foundation/platform'
import type { Destination } from '../policy/destination.ts'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import type { EgressCounts } from './egress-counts.ts'
import type { ProxyIdentity } from './proxy-gate.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

/** How often tunnels are checked, in milliseconds; a tunnel outlives its run by at most this time. */
export const tunnelPollMs = 500
/** An idle tunnel is closed after this time, in milliseconds. */
export const tunnelIdleMaxMs = 120_000
/** An idle tunnel stops extending the lease of its run after this time, in milliseconds. */
export const tunnelVouchesMs = 30_000
/** Maximum duration of a tunnel, even if it is busy, in milliseconds. */
export const tunnelTotalMaxMs = 60 * 60_000
/** Maximum number of bytes of a tunnel, in both directions together. */
export const tunnelBytesMax = 4 * 1024 * 1024 * 1024

export interface Traffic {
  /** Bytes to the server and from it. */
  readonly out: number
  readonly in: number
}

/** One connection through the proxy, from its request until both ends are closed. */
export interface Tunnel {
  readonly identity: ProxyIdentity
  readonly destination: Destination
  /** Aborts with the problem that ended the tunnel. */
  readonly signal: AbortSignal
  /** Starts to count the tunnel as open; `traffic` returns the bytes that the tunnel has transferred so far. */
  measure(traffic: () => Traffic): void
  /** Counts the tunnel as busy although nothing is transferred; returns the function that ends this. */
  keepOpen(): () => void
  /** Releases the tunnel's place. Idempotent. */
  close(): void
}

export interface Tunnels {
  /** Reserves a place for a tunnel. Throws the problem `rate-limited` if too many tunnels exist. */
  reserve(identity: ProxyIdentity, destination: Destination): Tunnel
  /** Closes the tunnels of one agent, or all. */
  cut(reason: Problem, agentId?: string): void
  open(): number
  /** Checks open tunnels until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface TunnelsDeps {
  readonly clock: Clock
  readonly counts: Pick<EgressCounts, 'opened' | 'moved'>
  /** False once the token or the run has ended. */
  readonly isLive: (identity: ProxyIdentity) => boolean
  /** Keeps the run's lease alive; returns the function that stops it. */
  readonly holdLease: (run: ProxyIdentity['caller']['run']) => () => void
}

interface HeldTunnel extends Tunnel {
  readonly startedAt: number
  readonly cutting: AbortController
  traffic: () => Traffic
  counted: Traffic
  movedAt: number
  /** How many requests on it wait for a person. */
  keptOpen: number
  releaseLease: (() => void) | null
}

export function createTunnels(deps: TunnelsDeps): Tunnels {
  const { clock, counts } = deps
  const open = createRoster<HeldTunnel>()
  const places = createOpenPlaces(agentShareLimits.tunnels)

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
    if (tunnel.keptOpen > 0) tunnel.movedAt = clock.now()
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
        keptOpen: 0,
        keepOpen: () => {
          tunnel.keptOpen += 1
          return () => {
            tunnel.keptOpen -= 1
          }
        },
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
        ? `the agent has ${agentShareLimits.tunnels.perAgentMax} open connections through the proxy, the maximum for one agent`
        : 'the fleet has the maximum number of open connections through the proxy',
    retryAfterSeconds: 1,
  })
}

function release(tunnel: HeldTunnel): void {
  tunnel.releaseLease?.()
  tunnel.releaseLease = null
}

/** Returns the reason why a tunnel must end now, or null. Pure. */
export function endOf(
  tunnel: { readonly startedAt: number; readonly movedAt: number; readonly counted: Traffic },
  at: { readonly now: number; readonly isLive: boolean },
): Problem | null {
  if (!at.isLive) return new Problem('cancelled', { detail: 'the run that opened this connection has ended' })
  if (at.now - tunnel.movedAt >= tunnelIdleMaxMs) {
    return new Problem('upstream-timeout', {
      detail: `the connection was idle for ${tunnelIdleMaxMs / 1000} s`,
    })
  }
  if (at.now - tunnel.startedAt >= tunnelTotalMaxMs) {
    return new Problem('upstream-timeout', {
      detail: `the connection was open for ${tunnelTotalMaxMs / 60_000} minutes, the maximum`,
    })
  }
  if (tunnel.counted.out + tunnel.counted.in > tunnelBytesMax) {
    return new Problem('body-too-large', {
      detail: `the connection transferred more than ${tunnelBytesMax} bytes, the maximum`,
    })
  }
  return null
}
