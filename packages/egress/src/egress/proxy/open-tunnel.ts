import { Problem } from '@flotilla/protocol/problem'
import type { Action, CallRate, Guard } from '@flotilla/identity/access'
import type { Destination } from '../policy/destination.ts'
import type { EgressCounts } from './egress-counts.ts'
import { plainHost } from '@flotilla/identity/policy'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { ChooseRoute, Route } from '../policy/choose-route.ts'
import type { Tunnel, Tunnels } from './tunnels.ts'
import type { ProxyIdentity } from './proxy-gate.ts'

/** A tunnel whose destination was checked: connect only by this route. */
export interface CheckedTunnel {
  readonly tunnel: Tunnel
  readonly route: Route
}

/**
 * Opens a tunnel for a program of an agent, with the same permission, rate and filter as `http_request`. The caller
 * closes it. Throws `denied`, `policy-denied`, `rate-limited`, what the filter throws, or the signal's reason.
 */
export type OpenTunnel = (
  identity: ProxyIdentity,
  target: {
    readonly destination: Destination
    readonly protocol: 'http:' | 'https:'
    /** What will be sent, for the policy; a tunnel hides both, and a header may replace the method. */
    readonly sent?: { readonly method: string | null; readonly path: string | null }
    /** True if each request on the connection is decided by itself, so that rules about requests wait for it. */
    readonly isInspected?: boolean
  },
  signal: AbortSignal,
) => Promise<CheckedTunnel>

export interface OpenTunnelDeps {
  readonly guard: Guard
  /** The action that the client must be allowed. */
  readonly needs: Action
  readonly rate: Pick<CallRate, 'take'>
  readonly tunnels: Pick<Tunnels, 'reserve'>
  readonly checkEffect: CheckEffect
  /** The name of these connections in the policy. */
  readonly tool: 'connect' | 'browser'
  readonly counts: Pick<EgressCounts, 'refused'>
  /** The current outbound filter and the choice of a proxy for one agent. */
  readonly routesFor: (agentId: string) => ChooseRoute
}

export function createOpenTunnel(deps: OpenTunnelDeps): OpenTunnel {
  return async (identity, { destination, protocol, sent, isInspected }, signal) => {
    const { caller } = identity
    let tunnel: Tunnel | null = null
    try {
      deps.guard(caller, deps.needs)
      const hidden = isInspected === true ? {} : { method: null, path: null }
      deps.checkEffect.requireAllowed(
        caller,
        { tool: deps.tool, host: plainHost(destination.host), ...(sent ?? hidden) },
        'no person can be asked about a connection of a program; use http_request for this host',
      )
      deps.rate.take(caller.agentId)
      tunnel = deps.tunnels.reserve(identity, destination)
      const choose = deps.routesFor(caller.agentId)
      return {
        tunnel,
        route: await choose(destination, protocol, AbortSignal.any([signal, tunnel.signal])),
      }
    } catch (error) {
      tunnel?.close()
      const code = error instanceof Problem ? error.code : 'internal-error'
      deps.counts.refused(caller.agentId, destination.host, code)
      throw error
    }
  }
}
