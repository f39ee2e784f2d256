import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientRequestArgs } from 'node:http'
import type * as Discord from 'discord.js'
import { WebSocket } from 'ws'
import type { ClientOptions } from 'ws'
import { httpAgentThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'

/** The outbound proxies for gateway connections, passed to discord.js through the asynchronous context. */
const gatewayProxies = new AsyncLocalStorage<OutboundProxies>()

/** The WebSocket class for discord.js, which has no option for the agent of its gateway connections; `ws` has one. */
class GatewayWebSocket extends WebSocket {
  constructor(address: string | URL, protocols: string[], options: ClientOptions & ClientRequestArgs) {
    const proxies = gatewayProxies.getStore()
    const protocol = new URL(address).protocol === 'wss:' ? 'https:' : 'http:'
    super(address, protocols, proxies ? { ...options, agent: httpAgentThrough(proxies, protocol) } : options)
  }
}

/**
 * Loads discord.js at the first call. While it loads, discord.js reads the class of its connections from `ws`. In the
 * bundle, a late import of a CommonJS module has only a default export.
 */
export async function loadDiscord(): Promise<typeof Discord> {
  // The setter prevents that the CommonJS form of `ws`, if loaded later, restores its own class.
  Object.defineProperty(WebSocket, 'WebSocket', {
    configurable: true,
    get: () => GatewayWebSocket,
    set: () => {},
  })
  const loaded = await import('discord.js')
  return 'default' in loaded ? (loaded.default as typeof Discord) : loaded
}

/** Runs `open` so that its gateway connections, including later reconnections, use these proxies. */
export function openThrough<T>(proxies: OutboundProxies, open: () => T): T {
  return gatewayProxies.run(proxies, open)
}
