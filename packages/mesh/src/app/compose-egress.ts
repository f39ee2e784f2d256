import { randomUUID } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import { boundConnections } from '../http/bound-connections.ts'
import { oneRequestAtATime } from '../http/one-request-at-a-time.ts'
import type { CommandContext } from './commands/command-context.ts'
import type { SettingsFile } from '../config/watch-settings.ts'
import type { AddressRange } from '../egress/policy/address-ranges.ts'
import { createClosedNetworks } from '../egress/policy/closed-networks.ts'
import { createConnectProxy } from '../egress/proxy/connect-proxy.ts'
import { createEgressCountTable } from '../egress/proxy/egress-count-table.ts'
import { createEgressCounts } from '../egress/proxy/egress-counts.ts'
import { createExchangeWithServer } from '../egress/mcp/exchange-with-server.ts'
import { createExceptionJournal } from '../egress/policy/exception-journal.ts'
import { createFetchMedia } from '../egress/fetch/fetch-media.ts'
import { createForwardRequest } from '../egress/fetch/forward-request.ts'
import type { ForwardRequest } from '../egress/fetch/forward-request.ts'
import { listNamesHost } from '../egress/policy/host-list.ts'
import { createJudgeDestination } from '../egress/policy/judge-destination.ts'
import type { JudgeDestinationDeps } from '../egress/policy/judge-destination.ts'
import { createOpenPassage } from '../egress/proxy/open-passage.ts'
import { createPassages, passagesMax, passagesPerAgentMax } from '../egress/proxy/passages.ts'
import { createPinnedFetch } from '../egress/fetch/pinned-fetch.ts'
import { createPrivateExceptions } from '../egress/policy/private-exceptions.ts'
import { createProxyGate } from '../egress/proxy/proxy-gate.ts'
import { createResolveName, serverTimeoutMs, serverTries } from '../egress/policy/resolve-name.ts'
import { createWebSearch, searchSetup } from '../egress/search/web-search.ts'
import type { WebSearch } from '../egress/search/web-search.ts'
import type { Fleet } from '../agents/fleet.ts'
import type { Journal } from '../journal/journal.ts'
import type { HoldLease } from '../runs/hold-lease.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { RateLimits } from '../access/rate-limits.ts'
import type { LiveRuns } from '../runs/lifecycle/live-runs.ts'
import type { SandboxRuntime } from '../sandbox/sandbox-runtime.ts'
import type { Database } from '../storage/database.ts'
import { createScrubs } from '../credentials/scrub.ts'
import type { OpenCredentials } from '../credentials/use-credentials.ts'
import type { Vault } from '../credentials/vault.ts'
import { systemClock } from '../platform/system-clock.ts'

const clock = systemClock
const hostsFile = '/etc/hosts'

export interface EgressParts {
  readonly context: CommandContext
  readonly settings: SettingsFile
  readonly runtime: Pick<SandboxRuntime, 'networks'>
  readonly rates: RateLimits
  readonly guard: Guard
  readonly journal: Journal
  readonly log: Log
  readonly holdLease: HoldLease
  readonly database: Database
  readonly liveRunOf: LiveRuns['liveRunOf']
  readonly verifyToken: Fleet['verifyToken']
  readonly credentials: OpenCredentials
  readonly mcpServersOf: (agentId: string) => McpServers
  readonly vault: Pick<Vault, 'system'>
  /** Ports that doors of the mesh listen on. */
  readonly doorPorts: () => readonly number[]
}

/** Sockets on the forward proxy: a container's programs may hold its passages twice over, and no more. */
const proxyConnections = { perAddressMax: 2 * passagesPerAgentMax, totalMax: 2 * passagesMax }

/** The way out: one filter for whatever leaves in an agent's name. */
export function composeEgress(parts: EgressParts) {
  const { settings, rates, guard, journal, log, holdLease, credentials } = parts
  const rules = () => settings.current().egress
  const networks = createClosedNetworks({
    networks: () => parts.runtime.networks(),
    interfaces: ownAddresses,
    clock,
    log,
  })
  const exceptions = createPrivateExceptions({
    entries: () => rules().allowed_private,
    isOwnAddress: networks.isOwnAddress,
    isFleetAddress: networks.isFleetAddress,
    guardedPorts: () => [...parts.doorPorts(), ...enginePortOf(parts.context)],
  })
  const resolve = createResolveName({
    readHosts: () => readFile(hostsFile, 'utf8').catch(() => ''),
    openServers: () => {
      const servers = new Resolver({ timeout: serverTimeoutMs, tries: serverTries })
      const { dns_servers: own } = rules()
      if (own.length > 0) servers.setServers(own)
      return servers
    },
  })
  const writeException = createExceptionJournal({ journal, clock })
  /** The filter as it stands for one agent. */
  const filterFor = (agentId: string): JudgeDestinationDeps => ({
    resolve: (name, signal) => resolve(name, signal, agentId),
    isAllowed: networks.isAllowed,
    get allowedPorts() {
      return rules().allowed_ports
    },
    isHostAllowed: (host) => listNamesHost(rules().allowed_hosts[agentId], host),
    exceptions,
    onException: (destination, address) => writeException(agentId, destination, address),
  })
  // Requests as calls are counted at the agent door; those through the proxy share their bucket.
  const rate = { take: (agentId: string) => rates.take(agentId, 'http') }
  const forwardRequest: ForwardRequest = (caller, request, signal) => {
    const fetch = createPinnedFetch(filterFor(caller.kind === 'agent' ? caller.agentId : ''))
    const forward = createForwardRequest({ guard, fetch, journal, clock, holdLease, credentials })
    return forward(caller, request, signal)
  }
  const exchangeWithServer = createExchangeWithServer({
    ...parts,
    clock,
    serversOf: parts.mcpServersOf,
    fetchFor: (agentId) => createPinnedFetch(filterFor(agentId)),
  })
  const fetchMedia = createFetchMedia({
    ...parts,
    rate,
    clock,
    fetchFor: (agentId) => createPinnedFetch(filterFor(agentId)),
  })
  const searchSources = {
    settings: () => settings.current().web_search,
    system: parts.vault.system,
  }
  const scrubFor = createScrubs()
  const webSearch: WebSearch = (caller, request, signal) => {
    // Where searches go is the owner's word and no agent's, so an agent's own list of hosts has no say.
    const { isHostAllowed: _narrowed, ...filter } = filterFor(caller.kind === 'agent' ? caller.agentId : '')
    const fetch = createPinnedFetch(filter)
    const search = createWebSearch({ ...searchSources, guard, fetch, journal, clock, holdLease, scrubFor })
    return search(caller, request, signal)
  }
  const counts = createEgressCounts({
    table: createEgressCountTable(parts.database),
    database: parts.database,
    journal,
    clock,
    log,
  })
  const { verifyToken } = parts
  const passages = createPassages({
    clock,
    counts,
    holdLease,
    isLive: ({ caller, token }) => {
      const live = parts.liveRunOf(caller.agentId)
      return (
        live?.runId === caller.run.runId && live.fence === caller.run.fence && verifyToken(token) !== null
      )
    },
  })
  const proxy = createConnectProxy({
    gate: createProxyGate({ verifyToken, liveRunOf: parts.liveRunOf }),
    openPassage: createOpenPassage({
      guard,
      rate,
      passages,
      counts,
      judgeFor: (agentId) => createJudgeDestination(filterFor(agentId)),
    }),
    passages,
    newRequestId: randomUUID,
    clock,
    log,
    bound: (server) => {
      boundConnections(server, proxyConnections)
      oneRequestAtATime(server)
    },
  })
  return {
    networks,
    forwardRequest,
    fetchMedia,
    exchangeWithServer,
    webSearch,
    /** Throws the Problem `not-configured` where nobody could search. */
    requireSearch: () => void searchSetup(searchSources),
    counts,
    proxy,
    /** Whoever's sandbox is gone has nothing open outside. */
    cutAgent: (agentId: string) =>
      passages.cut(new Problem('cancelled', { detail: 'the agent was stopped' }), agentId),
    openPassages: passages.open,
    run: async (signal: AbortSignal) => {
      await Promise.all([networks.run(signal), passages.run(signal), counts.run(signal)])
    },
  }
}

export type Egress = ReturnType<typeof composeEgress>

function ownAddresses(): AddressRange[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address, family }) => ({ address, prefix: family === 'IPv6' ? 128 : 32 })),
  )
}

/** An engine that is reached over TCP is a door as well. */
function enginePortOf({ env, environment }: CommandContext): readonly number[] {
  return [environment.engineSocket ?? '', env['DOCKER_HOST'] ?? ''].flatMap((address) => {
    const port = /^tcp:\/\/.*:(\d{1,5})\/?$/.exec(address)?.[1]
    return port === undefined ? [] : [Number(port)]
  })
}
