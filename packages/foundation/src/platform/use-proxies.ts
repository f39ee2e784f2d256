import { setGlobalProxyFromEnv } from 'node:http'
import type { OutboundProxies } from './proxied-connections.ts'

/**
 * Makes connections of libraries direct, whatever `NODE_USE_ENV_PROXY` is, except for addresses that the mesh's rules
 * send through a proxy. Connections to agents, the engine and loopback stay direct by these rules.
 */
export async function useProxies(
  rules: OutboundProxies & { readonly proxies: readonly unknown[] },
): Promise<void> {
  // An address to which no connection is made, because `*` exempts every host.
  const nowhere = 'http://127.0.0.1:9'
  setGlobalProxyFromEnv({ http_proxy: nowhere, https_proxy: nowhere, no_proxy: '*' })
  if (rules.proxies.length === 0) return
  const { proxiedByDefault } = await import('./proxied-agent.ts')
  proxiedByDefault(rules)
}
