import { Agent, buildConnector, setGlobalDispatcher } from 'undici'
import { connectorThrough } from './proxied-connections.ts'
import type { OutboundProxies } from './proxied-connections.ts'

/** Has `fetch`, WebSockets and undici's `request` without a dispatcher of their own go by these rules. */
export function proxiedByDefault(rules: OutboundProxies): void {
  setGlobalDispatcher(new Agent({ connect: connectorThrough(rules, buildConnector({})) }))
}
