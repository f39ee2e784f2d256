import { Agent as PlainAgent } from 'node:http'
import type { AgentOptions } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'
import type { buildConnector } from 'undici'
import { openTunnel } from './open-tunnel.ts'
import type { TunnelProxy } from './open-tunnel.ts'

/** Which connections of this process use a company's proxy. */
export interface OutboundProxies {
  /** The proxy for a URL; null for a direct connection. */
  readonly of: (url: URL) => TunnelProxy | null
}

/** The message of the error of an attempt that was cancelled. */
const cancelled = 'the connection is no longer needed'

/** undici's options of a connection: `host` includes the port if the address has one. */
type ConnectTarget = buildConnector.Options

/**
 * A connector for undici that returns a function which cancels the attempt; the callback then gets an error. The
 * function may be called until the callback was.
 */
export type CancellableConnector = (target: ConnectTarget, callback: buildConnector.Callback) => () => void

/**
 * A connector for undici that uses a proxy if the rules require it, and `direct` otherwise. It always requests a
 * tunnel, also for plain http, so that the proxy sees no path, header or body. `direct` also does TLS with the
 * server.
 */
export function connectorThrough(
  { of }: OutboundProxies,
  direct: buildConnector.connector,
  /** The address to request from the proxy; the host of the URL by default. */
  addressOf: (target: ConnectTarget) => string = ({ hostname }) => hostname,
): CancellableConnector {
  return (target, callback) => {
    const isTls = target.protocol === 'https:'
    const proxy = of(new URL(`${target.protocol}//${target.host ?? target.hostname}`))
    if (proxy === null) return canceller(direct(target, callback))
    const port = Number(target.port) || (isTls ? 443 : 80)
    let cancelTls: (() => void) | null = null
    const closeTunnel = openTunnel({ proxy, host: bare(addressOf(target)), port }, (error, socket) => {
      if (socket === null) callback(error ?? new Error('the proxy gave no connection'), null)
      else if (isTls) cancelTls = canceller(direct({ ...target, httpSocket: socket }, callback))
      else callback(null, socket)
    })
    return () => {
      if (cancelTls !== null) return cancelTls()
      closeTunnel()
      callback(new Error(cancelled), null)
    }
  }
}

/** undici's own connectors return their socket, which their type does not say. */
function canceller(attempt: unknown): () => void {
  return () => {
    if (attempt instanceof Duplex) attempt.destroy(new Error(cancelled))
  }
}

type Callback = (error: Error | null, stream: Duplex) => void
type ConnectOptions = AgentOptions & ConnectionOptions & { readonly host?: string; readonly port?: number }

/** An agent for node:http or node:https that uses a proxy if the rules require it, always by a tunnel. */
export function httpAgentThrough(
  { of }: OutboundProxies,
  protocol: 'http:' | 'https:',
  options: AgentOptions = {},
): PlainAgent | TlsAgent {
  const agent = protocol === 'https:' ? new TlsAgent(options) : new PlainAgent(options)
  const direct = agent.createConnection.bind(agent)
  agent.createConnection = (options: ConnectOptions, callback?: Callback) => {
    const { host = 'localhost', port = protocol === 'https:' ? 443 : 80 } = options
    const proxy = of(new URL(`${protocol}//${host.includes(':') ? `[${bare(host)}]` : host}:${port}`))
    if (proxy === null || callback === undefined) return direct(options, callback)
    openTunnel({ proxy, host: bare(host), port }, (error, socket) => {
      if (socket === null) callback(error ?? new Error('the proxy gave no connection'), null as never)
      // `connectTls` would connect to a Unix socket at `path`, but here `path` is that of the request.
      else callback(null, protocol === 'http:' ? socket : connectTls({ ...options, path: undefined, socket }))
    })
    return undefined
  }
  return agent
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}
