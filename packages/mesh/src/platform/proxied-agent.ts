import { Agent, ProxyAgent, setGlobalDispatcher } from 'undici'
import type { Dispatcher } from 'undici'
import type { TunnelProxy } from './open-tunnel.ts'

/** What of the connections of this process goes through a proxy. */
export interface OutboundProxies {
  readonly of: (url: URL) => TunnelProxy | null
  readonly proxies: readonly unknown[]
}

/** Has `fetch`, WebSockets and undici's `request` without a dispatcher of their own go by these rules. */
export function proxiedByDefault(rules: OutboundProxies): void {
  setGlobalDispatcher(proxiedAgent(rules))
}

/**
 * An agent of undici that goes through a proxy where the rules say so, always by CONNECT: the proxy sees no path, no header
 * and no body, also of plain http.
 */
export function proxiedAgent(rules: OutboundProxies, options: Agent.Options = {}): Dispatcher {
  const direct = new Agent(options)
  const known = new Map<string, ProxyAgent>()
  const agentFor = (proxy: TunnelProxy): ProxyAgent => {
    const found = known.get(proxy.shown)
    if (found) return found
    const token = proxy.authorization()
    const made = new ProxyAgent({
      ...options,
      uri: proxy.shown,
      proxyTunnel: true,
      ...(token === null ? {} : { token }),
    })
    known.set(proxy.shown, made)
    return made
  }
  return direct.compose((dispatch) => (asked, handler) => {
    const proxy = asked.origin === undefined ? null : rules.of(new URL(asked.origin))
    return proxy === null ? dispatch(asked, handler) : agentFor(proxy).dispatch(asked, handler)
  })
}
