import type { RateLimits } from '@flotilla/identity/access'
import type { Agents } from '@flotilla/fleet/agents'
import { createScrubs } from '../credentials/index.ts'
import type { OpenCredentials, Vault } from '../credentials/index.ts'
import type { HeldBytes, LoopShare } from '@flotilla/foundation/intake'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Runs } from '@flotilla/work/runs'
import type { EffectOnce } from '@flotilla/foundation/effects'
import type { PolicyChecks } from '@flotilla/identity/policy'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import { egressAgentRoutes } from './agent.routes.ts'
import type { Socket } from 'node:net'
import { createApprovedEffects } from './approved/approved-effect.ts'
import type { ApprovedEffects } from './approved/approved-effect.ts'
import { createFetchMedia } from './fetch/fetch-media.ts'
import type { FetchMediaForAgent } from './fetch/fetch-media.ts'
import { createApprovedRequests, httpApprovalKind } from './fetch/approved-requests.ts'
import { createForwardRequest } from './fetch/forward-request.ts'
import type { ForwardRequest, ForwardRequestDeps } from './fetch/forward-request.ts'
import { createPinnedFetch } from './fetch/pinned-fetch.ts'
import type { PinnedFetch } from './fetch/pinned-fetch.ts'
import { mcpAgentRoutes } from './mcp/agent.routes.ts'
import { createApprovedCalls, mcpApprovalKind } from './mcp/approved-calls.ts'
import { createExchangeWithServer } from './mcp/exchange-with-server.ts'
import type { ExchangeDeps, ExchangeWithServer } from './mcp/exchange-with-server.ts'
import type { ClosedNetworks } from './policy/closed-networks.ts'
import { destinationDoubts } from './policy/destination-doubts.ts'
import { createChooseRoute } from './policy/choose-route.ts'
import type { Destination } from './policy/destination.ts'
import { createOutboundFilter } from './policy/outbound-filter.ts'
import type { OutboundFilter } from './policy/outbound-filter.ts'
import type { ConnectProxy, ServedProxy } from './proxy/connect-proxy.ts'
import { dial } from './proxy/proxy-tunnel.ts'
import { createForwardProxy } from './proxy/forward-proxy.ts'
import type { Inspector } from './proxy/inspected-connection.ts'
import { createWebSearch, searchSetup } from './search/web-search.ts'
import type { EgressKernel } from '../events/index.ts'

export interface Egress {
  readonly networks: Pick<ClosedNetworks, 'refresh'>
  /** The forward proxy; the start of the mesh makes it listen on the gateway address of the agents' networks. */
  readonly proxy: ServedProxy
  /** The proxy for browsers, on their own network; the browser module provides the owner of each token. */
  readonly browsers: {
    readonly proxy: ConnectProxy
    identifyBy(browserOf: (token: string) => string | null): void
  }
  /** Provides what inspects the hosts that the owner names; until then every host is a tunnel. */
  inspectBy(inspector: Inspector): void
  /** Connects to a destination for an agent, after the outbound filter has checked it. */
  readonly dialFor: (agentId: string, destination: Destination, signal: AbortSignal) => Promise<Socket>
  /** Effects that a rule of the owner asks for. */
  readonly approved: ApprovedEffects
  /** Fetches an image or a document that a model call names by URL. */
  readonly fetchMedia: FetchMediaForAgent
  /** Fetches for the mesh from local services, given as exact `host:port`; nothing else is reachable. */
  readonly fetchAt: (places: readonly string[]) => PinnedFetch
  /**
   * Fetches for the mesh from addresses that the owner configured, through the filter for agents without an agent's
   * list of hosts.
   */
  readonly fetchForMesh: PinnedFetch
  /** Throws the problem `not-configured` if no web search is set up. */
  requireSearch(): void
}

export interface EgressNeeds {
  /** The company proxies for the mesh's own requests, and for those of agents if `egress.use_proxy` is set. */
  readonly environment: { readonly proxies: OutboundProxies }
  readonly runtime: Pick<SandboxRuntime, 'networks'>
  /** The configured addresses of the engine. */
  readonly engineAddresses: readonly string[]
  readonly rates: RateLimits
  readonly agents: Pick<Agents, 'registry' | 'connection'>
  readonly runs: Pick<Runs, 'lifecycle' | 'holdLease' | 'queries'>
  readonly approvals: Pick<ApprovalDesk, 'ask' | 'addKind' | 'ofCall'>
  /** The owner's policy, which every exit asks after the guard. */
  readonly checkEffect: PolicyChecks
  readonly effects: Pick<EffectOnce, 'outside' | 'wasBegun'>
  readonly openCredentials: OpenCredentials
  readonly vault: Pick<Vault, 'system'>
  /** Each agent's share of the event loop, and the bytes held for answers while they arrive. */
  readonly shares: { readonly calls: LoopShare; readonly held: { readonly replies: HeldBytes } }
}

export { approvalRequired, approvedEffectArgs } from './approved/approved-effect.ts'
export type { AgentCaller, ApprovedEffects } from './approved/approved-effect.ts'
export { startDeadline } from './fetch/deadline.ts'
export type { PinnedFetch } from './fetch/pinned-fetch.ts'
export { answerInTinyChunks, boundChunks } from './fetch/bound-chunks.ts'
export { parseHostAndPort, textOf } from './policy/destination.ts'
export type { Destination } from './policy/destination.ts'
export type { InspectedConnection, Inspector } from './proxy/inspected-connection.ts'
export { inspectedRequestHeaders, returnedHeaders, webSocketRequestHeaders } from './proxy/proxied-headers.ts'
export { refusalOf, refuseResponse, refuseSocket } from './proxy/proxy-refusal.ts'
export { listNamesHost } from './policy/host-list.ts'
export type { ConnectProxy } from './proxy/connect-proxy.ts'

/** Wires the egress module: one filter for everything that is sent on behalf of agents. */
export function egressModule(kernel: EgressKernel, needs: EgressNeeds): MeshModule<Egress> {
  const { rates, openCredentials: credentials, checkEffect } = needs
  const { calls: loop, held } = needs.shares
  const { holdLease, lifecycle } = needs.runs
  const { liveRunOf } = lifecycle.live
  const { networks, filterFor, filterAt, filterOfMesh } = createOutboundFilter(kernel, needs)
  const fetchFor = (agentId: string) => createPinnedFetch(filterFor(agentId))
  // Calls are counted at the agent API; requests through the proxy and for models share their rate limit.
  const rate = { take: (agentId: string) => rates.take(agentId, 'http') }
  const leaving = { ...kernel, liveRunOf, holdLease, credentials, rate, fetchFor, loop, checkEffect }
  const searchSources = { settings: () => kernel.settings().web_search, system: needs.vault.system }
  // No browser exists before the browser module provides this function.
  let browserOf: (token: string) => string | null = () => null
  const forwarding = createForwardProxy({
    kernel,
    liveRunOf,
    holdLease,
    browserRate: { take: (agentId) => rates.take(agentId, 'browser') },
    browserOf: (token) => browserOf(token),
    verifyToken: needs.agents.connection.verifyToken,
    filterFor,
    rate,
    checkEffect,
  })
  kernel.fleetEvents.sandboxGone.subscribe(({ agentId }) => forwarding.cutAgent(agentId))
  kernel.fleetEvents.agentDeleted.subscribe(forwarding.forget)
  kernel.fleetEvents.outboundDoubts.subscribe(({ url, agentId }) =>
    destinationDoubts(url, agentId === null ? filterOfMesh : filterFor(agentId)),
  )
  const approved = openApproved(kernel, needs)
  const forwardRequest = openRequests(approved, needs.approvals, leaving)
  const exchange = openExchanges(kernel, needs, { ...leaving, held: held.replies, approved, liveRunOf })
  const webSearch = createWebSearch({
    ...kernel,
    ...searchSources,
    holdLease,
    loop,
    scrubFor: createScrubs(),
    // The owner chooses the search provider, so an agent's own list of hosts does not apply.
    fetchFor: (agentId) => {
      const { isHostAllowed: _narrowed, ...filter } = filterFor(agentId)
      return createPinnedFetch({ ...filter, proxies: needs.environment.proxies })
    },
  })
  return {
    api: {
      networks,
      proxy: forwarding.proxy,
      browsers: {
        proxy: forwarding.browserProxy,
        identifyBy: (given) => {
          browserOf = given
        },
      },
      inspectBy: forwarding.inspectBy,
      dialFor: createDialFor(filterFor),
      approved,
      fetchMedia: createFetchMedia(leaving),
      fetchForMesh: createPinnedFetch(filterOfMesh),
      fetchAt: (places) => createPinnedFetch(filterAt(places)),
      requireSearch: () => void searchSetup(searchSources),
    },
    routes: {
      agent: (surface) => {
        egressAgentRoutes(surface, { forwardRequest, webSearch })
        mcpAgentRoutes(surface, exchange)
      },
    },
    metrics: forwarding.metrics,
    prepare: networks.refresh,
    run: async (signal) => {
      await Promise.all([networks.run(signal), forwarding.run(signal)])
    },
  }
}

/** Creates `http_request`, and the kind of approval by which a request that a rule asks for is sent. */
function openRequests(
  approved: ApprovedEffects,
  approvals: EgressNeeds['approvals'],
  leaving: Omit<ForwardRequestDeps, 'ask'> & Pick<EgressNeeds, 'checkEffect'>,
): ForwardRequest {
  const send = createForwardRequest({
    ...leaving,
    checkEffect: leaving.checkEffect.ofApproved,
    ask: () => {},
  })
  const requests = createApprovedRequests({ approved, send })
  approvals.addKind(httpApprovalKind, requests.kind)
  return createForwardRequest({ ...leaving, ask: requests.ask })
}

/** Creates exchanges with MCP servers, and the kind of approval by which a tool call that a rule asks for is made. */
function openExchanges(
  kernel: EgressKernel,
  needs: Pick<EgressNeeds, 'agents' | 'approvals' | 'checkEffect'>,
  {
    approved,
    liveRunOf,
    ...leaving
  }: Omit<ExchangeDeps, 'serversOf' | 'isOver' | 'ask'> & {
    readonly approved: ApprovedEffects
    readonly liveRunOf: EgressNeeds['runs']['lifecycle']['live']['liveRunOf']
  },
): ExchangeWithServer {
  const exchanging = { ...leaving, serversOf: needs.agents.registry.mcpServers.of }
  const calls = createApprovedCalls({
    ...exchanging,
    ...kernel,
    approved,
    // The run waits; the record of effects aborts the call if the run ends.
    exchange: createExchangeWithServer({
      ...exchanging,
      checkEffect: needs.checkEffect.ofApproved,
      isOver: () => false,
      ask: () => {},
    }),
  })
  needs.approvals.addKind(mcpApprovalKind, calls.kind)
  return createExchangeWithServer({
    ...exchanging,
    ask: calls.ask,
    isOver: (agentId, run) => {
      const live = liveRunOf(agentId)
      return live?.runId !== run?.runId || live?.fence !== run?.fence
    },
  })
}

function createDialFor(filterFor: OutboundFilter['filterFor']): Egress['dialFor'] {
  return async (agentId, destination, signal) => {
    const route = await createChooseRoute(filterFor(agentId))(destination, 'https:', signal)
    return dial({ tunnel: { destination }, route }, signal)
  }
}

function openApproved(
  kernel: EgressKernel,
  { approvals, effects, runs }: Pick<EgressNeeds, 'approvals' | 'effects' | 'runs'>,
): ApprovedEffects {
  const { ask, ofCall } = approvals
  return createApprovedEffects({ ...kernel, ask, ofCall, effects, runs: runs.queries })
}
