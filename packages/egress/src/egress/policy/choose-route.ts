import type { LookupAddress } from 'node:dns'
import { Problem } from '@flotilla/protocol/problem'
import type { OutboundProxies, TunnelProxy } from '@flotilla/foundation/platform'
import { createCheckDestination } from './check-destination.ts'
import type { CheckDestinationDeps } from './check-destination.ts'
import { textOf } from './destination.ts'
import type { Destination } from './destination.ts'

/** How a checked destination is connected to. */
export interface Route {
  /** The checked addresses; empty only if the proxy resolves the name. */
  readonly addresses: readonly LookupAddress[]
  /** The company's proxy and the host to request from it; null for a direct connection. */
  readonly proxy: { readonly via: TunnelProxy; readonly host: string } | null
}

export interface RouteDeps extends CheckDestinationDeps {
  /** If absent, connections are direct. */
  readonly proxies?: OutboundProxies
  /**
   * True for `egress.proxy_resolves_names`: the proxy gets names instead of checked addresses, also names that the
   * mesh cannot resolve. A name that the mesh resolves to a private address is still refused.
   */
  readonly proxyResolvesNames?: boolean
}

/**
 * Decides how to connect: first whether the destination is allowed (`check-destination`), then whether to connect
 * directly or through a proxy. A private address that the owner opened is always connected to directly. Throws what
 * `check-destination` throws.
 */
export type ChooseRoute = (
  destination: Destination,
  protocol: 'http:' | 'https:',
  signal: AbortSignal,
) => Promise<Route>

export function createChooseRoute(deps: RouteDeps): ChooseRoute {
  const check = createCheckDestination(deps)
  return async (destination, protocol, signal) => {
    const { host } = destination
    const via = deps.proxies?.of(new URL(`${protocol}//${textOf(destination)}`)) ?? null
    if (via === null) return { addresses: await check(destination, signal), proxy: null }
    const byName = deps.proxyResolvesNames === true
    const addresses = await check(destination, signal).catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'name-unresolved') throw error
      if (deps.exceptions?.covers(destination) === true) throw error
      if (byName && isPublicName(host)) return []
      throw byName ? error : withHint(error)
    })
    const isPublic = addresses.every(({ address }) => deps.isAllowed(address))
    if (!isPublic) return { addresses, proxy: null }
    const [first] = addresses
    return { addresses, proxy: { via, host: byName || first === undefined ? host : first.address } }
  }
}

/**
 * Top-level names that do not exist on the public internet (RFC 6761, 6762, 8375; ICANN on `internal`, `corp`,
 * `home`, `mail`).
 */
const localTops = new Set([
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'mail',
  'invalid',
  'test',
  'arpa',
])

/** False for a name with one label, and for a name below a top-level name of private networks. Pure. */
function isPublicName(host: string): boolean {
  const labels = host.split('.')
  return labels.length > 1 && !localTops.has(labels.at(-1) ?? '')
}

function withHint(error: Problem): Problem {
  return new Problem('name-unresolved', {
    detail: `${error.detail}; if only the proxy can resolve names of the internet, the owner sets egress.proxy_resolves_names in config/settings.json`,
    cause: error,
  })
}
