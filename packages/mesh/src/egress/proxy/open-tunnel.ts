import type { LookupAddress } from 'node:dns'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, CallRate, Guard } from '../../access/index.ts'
import type { Destination } from '../policy/destination.ts'
import type { EgressCounts } from './egress-counts.ts'
import type { CheckDestination } from '../policy/check-destination.ts'
import type { Tunnel, Tunnels } from './tunnels.ts'
import type { ProxyIdentity } from './proxy-gate.ts'

/** A tunnel whose destination was checked: connect to these addresses and to no other. */
export interface CheckedTunnel {
  readonly tunnel: Tunnel
  readonly addresses: readonly LookupAddress[]
}

/**
 * A program of an agent asks for a way out. The same permission, rate and filter as `http_request`. The caller closes
 * the tunnel. Throws `denied`, `rate-limited`, what the filter says, or the signal's reason.
 */
export type OpenTunnel = (
  identity: ProxyIdentity,
  destination: Destination,
  signal: AbortSignal,
) => Promise<CheckedTunnel>

export interface OpenTunnelDeps {
  readonly guard: Guard
  /** What whoever asks must be allowed. */
  readonly needs: Action
  readonly rate: Pick<CallRate, 'take'>
  readonly tunnels: Pick<Tunnels, 'reserve'>
  readonly counts: Pick<EgressCounts, 'refused'>
  /** The outbound filter as it stands for one agent. */
  readonly checkFor: (agentId: string) => CheckDestination
}

export function createOpenTunnel(deps: OpenTunnelDeps): OpenTunnel {
  return async (identity, destination, signal) => {
    const { caller } = identity
    let tunnel: Tunnel | null = null
    try {
      deps.guard(caller, deps.needs)
      deps.rate.take(caller.agentId)
      tunnel = deps.tunnels.reserve(identity, destination)
      const check = deps.checkFor(caller.agentId)
      return {
        tunnel,
        addresses: await check(destination, AbortSignal.any([signal, tunnel.signal])),
      }
    } catch (error) {
      tunnel?.close()
      const code = error instanceof Problem ? error.code : 'internal-error'
      deps.counts.refused(caller.agentId, destination.host, code)
      throw error
    }
  }
}
