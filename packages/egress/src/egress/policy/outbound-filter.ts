import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { rootOf } from '@flotilla/identity/events'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { AddressRange } from './public-addresses.ts'
import type { RouteDeps } from './choose-route.ts'
import type { CheckDestinationDeps } from './check-destination.ts'
import { createClosedNetworks } from './closed-networks.ts'
import type { ClosedNetworks } from './closed-networks.ts'
import { listNamesHost } from './host-list.ts'
import { createPrivateExceptions } from './private-exceptions.ts'
import { createResolveName, serverTimeoutMs, serverTries } from './resolve-name.ts'
import type { EgressKernel } from '../../events/index.ts'
import type { Clock } from '@flotilla/protocol/clock'
import type { Journal } from '@flotilla/foundation/journal'
import type { Destination } from './destination.ts'
import { textOf } from './destination.ts'

const hostsFile = '/etc/hosts'

export interface OutboundFilter {
  readonly networks: ClosedNetworks
  /** Returns the filter with the settings of one agent. */
  filterFor(agentId: string): RouteDeps
  /** The filter for requests of the mesh itself to addresses that the owner configured. */
  readonly filterOfMesh: RouteDeps
  /** The filter for requests of the mesh itself to exactly these `host:port` places, whatever the settings open. */
  filterAt(places: readonly string[]): CheckDestinationDeps
}

/** Creates the filter for everything that is sent on behalf of agents. */
export function createOutboundFilter(
  kernel: Pick<EgressKernel, 'clock' | 'log' | 'journal' | 'settings' | 'ports' | 'identityEvents'>,
  {
    runtime,
    engineAddresses,
    environment,
  }: {
    readonly environment: { readonly proxies: OutboundProxies }
    readonly runtime: Pick<SandboxRuntime, 'networks'>
    /** The configured addresses of the engine. */
    readonly engineAddresses: readonly string[]
  },
): OutboundFilter {
  const rules = () => kernel.settings().egress
  const networks = createClosedNetworks({
    ...kernel,
    networks: () => runtime.networks(),
    interfaces: ownAddresses,
  })
  const openedBy = (entries: () => readonly string[]) =>
    createPrivateExceptions({
      entries,
      isOwnAddress: networks.isOwnAddress,
      isFleetAddress: networks.isFleetAddress,
      guardedPorts: () => [...kernel.ports.open, ...engineAddresses.flatMap(tcpPortIn)],
    })
  const exceptions = openedBy(() => rules().allowed_private)
  const resolve = createResolveName({
    readHosts: () => readFile(hostsFile, 'utf8').catch(() => ''),
    openServers: () => {
      const servers = new Resolver({ timeout: serverTimeoutMs, tries: serverTries })
      const { dns_servers: own } = rules()
      if (own.length > 0) servers.setServers(own)
      return servers
    },
  })
  const writeException = createExceptionJournal(kernel)
  return {
    networks,
    filterAt: (places) => ({
      // The places are addresses and not names, so this filter resolves no name.
      resolve: async () => [],
      isAllowed: () => false,
      allowedPorts: [],
      exceptions: openedBy(() => places),
    }),
    filterOfMesh: {
      proxies: environment.proxies,
      get proxyResolvesNames() {
        return rules().proxy_resolves_names
      },
      resolve: (name, signal) => resolve(name, signal),
      isAllowed: networks.isAllowed,
      get allowedPorts() {
        return rules().allowed_ports
      },
      exceptions,
      onException: (destination, address) => writeException('system', destination, address),
    },
    filterFor: (agentId) => ({
      proxies: { of: (url) => (rules().use_proxy ? environment.proxies.of(url) : null) },
      get proxyResolvesNames() {
        return rules().proxy_resolves_names
      },
      resolve: (name, signal) => resolve(name, signal, agentId),
      isAllowed: networks.isAllowed,
      get allowedPorts() {
        return rules().allowed_ports
      },
      isHostAllowed: (host) =>
        listNamesHost(rules().allowed_hosts[rootOf(kernel.identityEvents, agentId)], host),
      exceptions,
      onException: (destination, address) => writeException(`agent:${agentId}`, destination, address),
    }),
  }
}

function ownAddresses(): AddressRange[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address, family }) => ({ address, prefix: family === 'IPv6' ? 128 : 32 })),
  )
}

/** Returns the port of an engine that is reached over TCP, which must stay closed too; an empty list without one. */
function tcpPortIn(address: string): readonly number[] {
  const port = /^tcp:\/\/.*:(\d{1,5})\/?$/.exec(address)?.[1]
  return port === undefined ? [] : [Number(port)]
}

/**
 * The time in milliseconds within which uses of an opened place by one caller are recorded only once: a program may
 * connect a hundred times a second.
 */
const exceptionWrittenEveryMs = 60_000
/** How many pairs of caller and place are remembered; above that all are forgotten, which only adds records. */
const rememberedMax = 1000

/** Records in the audit log that an agent, or the mesh itself, used a place that the owner opened. */
function createExceptionJournal(deps: { readonly journal: Journal; readonly clock: Clock }) {
  const written = new Map<string, number>()
  return (actor: string, destination: Destination, address: string): void => {
    const place = textOf(destination)
    const key = `${actor} ${place} ${address}`
    const now = deps.clock.now()
    if (now - (written.get(key) ?? Number.NEGATIVE_INFINITY) < exceptionWrittenEveryMs) return
    if (written.size >= rememberedMax) written.clear()
    written.set(key, now)
    deps.journal.append({
      actor,
      action: 'egress.exception-used',
      subject: place,
      detail: { address },
    })
  }
}
