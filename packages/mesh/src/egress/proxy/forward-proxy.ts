import { randomUUID } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import type { CallRate, RunTicket } from '../../access/index.ts'
import { boundConnections, oneRequestAtATime } from '../../http/index.ts'
import type { Kernel, Metric } from '../../kernel/index.ts'
import { createCheckDestination } from '../policy/check-destination.ts'
import type { OutboundFilter } from '../policy/outbound-filter.ts'
import { createConnectProxy } from './connect-proxy.ts'
import type { ConnectProxy } from './connect-proxy.ts'
import { createEgressCountTable } from './egress-count-table.ts'
import { createEgressCounts } from './egress-counts.ts'
import { createOpenTunnel } from './open-tunnel.ts'
import { createProxyGate } from './proxy-gate.ts'
import type { ProxyGateDeps } from './proxy-gate.ts'
import { createTunnels, tunnelsMax, tunnelsPerAgentMax } from './tunnels.ts'

/** Sockets on the forward proxy: a container's programs may hold its tunnels twice over, and no more. */
const proxyConnections = { perAddressMax: 2 * tunnelsPerAgentMax, totalMax: 2 * tunnelsMax }
/** Pairs of agent and host that are told, those with most traffic first. */
const toldHostsMax = 500

export interface ForwardProxyDeps extends ProxyGateDeps {
  readonly kernel: Kernel
  readonly filterFor: OutboundFilter['filterFor']
  readonly rate: Pick<CallRate, 'take'>
  readonly holdLease: (run: RunTicket | null) => () => void
}

export interface ForwardProxy {
  readonly proxy: ConnectProxy
  /** Whoever's sandbox is gone has nothing open outside. */
  cutAgent(agentId: string): void
  forget(agentId: string): void
  metrics(): readonly Metric[]
  run(signal: AbortSignal): Promise<void>
}

/** The forward proxy with what is open through it and what is counted of it. */
export function createForwardProxy(deps: ForwardProxyDeps): ForwardProxy {
  const { kernel, verifyToken, liveRunOf } = deps
  const counts = createEgressCounts({ ...kernel, table: createEgressCountTable(kernel.database) })
  const tunnels = createTunnels({
    clock: kernel.clock,
    counts,
    holdLease: deps.holdLease,
    isLive: ({ caller, token }) => {
      const live = liveRunOf(caller.agentId)
      return (
        live?.runId === caller.run.runId && live.fence === caller.run.fence && verifyToken(token) !== null
      )
    },
  })
  const proxy = createConnectProxy({
    gate: createProxyGate({ verifyToken, liveRunOf }),
    openTunnel: createOpenTunnel({
      guard: kernel.guard,
      rate: deps.rate,
      tunnels,
      counts,
      checkFor: (agentId) => createCheckDestination(deps.filterFor(agentId)),
    }),
    tunnels,
    newRequestId: randomUUID,
    clock: kernel.clock,
    log: kernel.log,
    bound: (server) => {
      boundConnections(server, proxyConnections)
      oneRequestAtATime(server)
    },
  })
  return {
    proxy,
    cutAgent: (agentId) =>
      tunnels.cut(new Problem('cancelled', { detail: 'the agent was stopped' }), agentId),
    forget: counts.forget,
    metrics: () => proxyMetrics(counts.list(toldHostsMax), tunnels.open()),
    run: async (signal) => {
      await Promise.all([tunnels.run(signal), counts.run(signal)])
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
