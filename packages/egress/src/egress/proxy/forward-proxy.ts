import { randomUUID } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, CallRate, RunTicket } from '@flotilla/identity/access'
import { boundConnections, oneRequestAtATime } from '@flotilla/identity/http'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { Kernel, Metric } from '@flotilla/identity/kernel'
import { createChooseRoute } from '../policy/choose-route.ts'
import type { OutboundFilter } from '../policy/outbound-filter.ts'
import { createConnectProxy } from './connect-proxy.ts'
import type { ConnectProxy, ConnectProxyDeps, ServedProxy } from './connect-proxy.ts'
import { createEgressCountTable } from './egress-count-table.ts'
import { createEgressCounts } from './egress-counts.ts'
import { createOpenTunnel } from './open-tunnel.ts'
import type { OpenTunnelDeps } from './open-tunnel.ts'
import { createBrowserGate, createProxyGate } from './proxy-gate.ts'
import type { Inspector } from './inspected-connection.ts'
import type { ProxyGate, ProxyGateDeps } from './proxy-gate.ts'
import { createTunnels } from './tunnels.ts'
import type { Tunnels, TunnelsDeps } from './tunnels.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

/** Sockets on the forward proxy: twice the tunnels that the programs of one container may hold. */
const proxyConnections = {
  perAddressMax: 2 * agentShareLimits.tunnels.perAgentMax,
  totalMax: 2 * agentShareLimits.tunnels.max,
}
/** How many pairs of agent and host are reported, those with the most traffic first. */
const listedHostsMax = 500

export interface ForwardProxyDeps extends ProxyGateDeps {
  readonly kernel: Kernel
  readonly filterFor: OutboundFilter['filterFor']
  readonly rate: Pick<CallRate, 'take'>
  readonly browserRate: Pick<CallRate, 'take'>
  /** The agent whose open browser has this token, or null. */
  readonly browserOf: (token: string) => string | null
  readonly holdLease: (run: RunTicket | null) => () => void
  readonly checkEffect: CheckEffect
}

export interface ForwardProxy {
  readonly proxy: ServedProxy
  readonly browserProxy: ConnectProxy
  /** Closes the connections of an agent whose sandbox is gone. */
  cutAgent(agentId: string): void
  forget(agentId: string): void
  /** Provides what inspects hosts for programs; until then every host is a tunnel. */
  inspectBy(inspector: Inspector): void
  metrics(): readonly Metric[]
  run(signal: AbortSignal): Promise<void>
}

/** A browser's connections need its own token, the open browser, and the agent's permission. */
const browsing: Action = { do: 'use-browser', browserAction: 'navigate' }
const calling: Action = { do: 'call-api', api: 'http' }

/** Creates the forward proxies for programs and browsers, with their open connections and counts. */
export function createForwardProxy(deps: ForwardProxyDeps): ForwardProxy {
  const { kernel, verifyToken, liveRunOf } = deps
  const { clock, guard, decide, log } = kernel
  let inspector: Inspector | null = null
  const counts = createEgressCounts({ ...kernel, table: createEgressCountTable(kernel.database) })
  const proxyBy = (
    gate: ProxyGate,
    {
      needs,
      rate,
      tool,
      inspector: inspectorOf,
      ...of
    }: Pick<TunnelsDeps, 'isLive' | 'holdLease'> &
      Pick<OpenTunnelDeps, 'needs' | 'rate' | 'tool'> &
      Pick<ConnectProxyDeps, 'inspector'>,
  ): { readonly proxy: ServedProxy; readonly tunnels: Tunnels } => {
    const tunnels = createTunnels({ clock, counts, ...of })
    const routesFor = (agentId: string) => createChooseRoute(deps.filterFor(agentId))
    const proxy = createConnectProxy({
      gate,
      openTunnel: createOpenTunnel({ ...deps, guard, needs, rate, tool, tunnels, counts, routesFor }),
      tunnels,
      newRequestId: randomUUID,
      clock,
      log,
      inspector: inspectorOf,
      bound: (server) => {
        boundConnections(server, proxyConnections)
        oneRequestAtATime(server)
      },
    })
    return { proxy, tunnels }
  }
  const programs = proxyBy(createProxyGate({ verifyToken, liveRunOf }), {
    needs: calling,
    tool: 'connect',
    rate: deps.rate,
    inspector: () => inspector,
    holdLease: deps.holdLease,
    isLive: ({ caller, token }) => {
      const live = liveRunOf(caller.agentId)
      return (
        live?.runId === caller.run?.runId && live?.fence === caller.run?.fence && verifyToken(token) !== null
      )
    },
  })
  const browsers = proxyBy(createBrowserGate(deps.browserOf), {
    needs: browsing,
    tool: 'browser',
    rate: deps.browserRate,
    // The container of a browser does not have the authority of the fleet.
    inspector: () => null,
    // Page loads do not extend the lease of a run.
    holdLease: () => () => {},
    isLive: ({ caller, token }) =>
      deps.browserOf(token) === caller.agentId && decide(caller, browsing).allowed,
  })
  return {
    proxy: programs.proxy,
    browserProxy: browsers.proxy,
    // The agent's browser runs in another sandbox and continues.
    cutAgent: (agentId) =>
      programs.tunnels.cut(new Problem('cancelled', { detail: 'the agent was stopped' }), agentId),
    forget: counts.forget,
    inspectBy: (given) => {
      inspector = given
    },
    metrics: () =>
      proxyMetrics(counts.list(listedHostsMax), programs.tunnels.open() + browsers.tunnels.open()),
    run: async (signal) => {
      await Promise.all([programs.tunnels.run(signal), browsers.tunnels.run(signal), counts.run(signal)])
    },
  }
}

function proxyMetrics(
  rows: ReturnType<ReturnType<typeof createEgressCounts>['list']>,
  open: number,
): readonly Metric[] {
  const samples = (valueOf: (row: (typeof rows)[number]) => number) =>
    rows.map((row) => ({ labels: { agent: row.agentId, host: row.host }, value: valueOf(row) }))
  return [
    {
      name: 'flotilla_proxy_connections_total',
      kind: 'counter',
      description: 'Connections made through the forward proxy by agent and host',
      samples: samples((row) => row.connections),
    },
    {
      name: 'flotilla_proxy_refused_total',
      kind: 'counter',
      description: 'Connections refused by the forward proxy by agent and host',
      samples: samples((row) => row.refused),
    },
    {
      name: 'flotilla_proxy_sent_bytes_total',
      kind: 'counter',
      description: 'Bytes sent to a host through the forward proxy by agent and host',
      samples: samples((row) => row.bytesOut),
    },
    {
      name: 'flotilla_proxy_received_bytes_total',
      kind: 'counter',
      description: 'Bytes received from a host through the forward proxy by agent and host',
      samples: samples((row) => row.bytesIn),
    },
    {
      name: 'flotilla_proxy_open',
      kind: 'gauge',
      description: 'Connections open through the forward proxy',
      samples: [{ value: open }],
    },
  ]
}
