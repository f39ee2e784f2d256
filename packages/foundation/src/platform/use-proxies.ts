import { setGlobalProxyFromEnv } from 'node:http'
import { connectDirectly } from '@flotilla/protocol/direct-connections'
import type { OutboundProxies } from './proxied-connections.ts'

/**
 * Makes connections of libraries direct, whatever `NODE_USE_ENV_PROXY` is, except for addresses that the mesh's rules
 * send through a proxy. Connections to agents, the engine and loopback stay direct by these rules.
 */
export async function useProxies(
  rules: OutboundProxies & { readonly proxies: readonly unknown[] },
): Promise<void> {
  connectDirectly(process, setGlobalProxyFromEnv)
  if (rules.proxies.length === 0) return
  const { proxiedByDefault } = await import('./proxied-agent.ts')
  proxiedByDefault(rules)
}
