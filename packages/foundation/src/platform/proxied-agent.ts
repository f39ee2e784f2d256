import { Agent, buildConnector, setGlobalDispatcher } from 'undici'
import { connectorThrough } from './proxied-connections.ts'
import type { OutboundProxies } from './proxied-connections.ts'

/** Sets the global dispatcher, so that `fetch`, WebSockets and undici's `request` follow these proxy rules. */
export function proxiedByDefault(rules: OutboundProxies): void {
  setGlobalDispatcher(new Agent({ connect: connectorThrough(rules, buildConnector({})) }))
}
