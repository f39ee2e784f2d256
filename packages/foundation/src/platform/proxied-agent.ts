import { Agent, buildConnector, setGlobalDispatcher } from 'undici'
import { connectorThrough } from './proxied-connections.ts'
import type { OutboundProxies } from './proxied-connections.ts'

/**
 * Sets the global dispatcher, so that `fetch`, WebSockets and undici's `request` follow these proxy rules. It speaks
 * HTTP/1.1: while undici does not know whether a server speaks HTTP/2, it opens one connection at a time.
 */
export function proxiedByDefault(rules: OutboundProxies): void {
  const connect = connectorThrough(rules, buildConnector({ allowH2: false }))
  setGlobalDispatcher(new Agent({ connect, allowH2: false }))
}
