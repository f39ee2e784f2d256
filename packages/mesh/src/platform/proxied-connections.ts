import { Agent as PlainAgent } from 'node:http'
import type { AgentOptions } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'
import type { buildConnector } from 'undici'
import { openTunnel } from './open-tunnel.ts'
import type { TunnelProxy } from './open-tunnel.ts'

/** Which connections of this process go through a company's proxy. */
export interface OutboundProxies {
  /** Null for a direct connection. */
  readonly of: (url: URL) => TunnelProxy | null
}

/** Options of undici for a connection: `host` has the port where the address names one. */
type Wanted = buildConnector.Options

/**
 * A connector of undici that goes through a proxy where the rules say so, and is `direct` elsewhere. It always asks for a
 * tunnel, also for plain http: the proxy sees no path, no header and no body. `direct` also does TLS with the far end.
 */
export function connectorThrough(
  { of }: OutboundProxies,
  direct: buildConnector.connector,
  /** The address that the proxy is asked for; the host of the URL where it is not given. */
  addressOf: (wanted: Wanted) => string = ({ hostname }) => hostname,
): buildConnector.connector {
  return (wanted, callback) => {
    const isTls = wanted.protocol === 'https:'
    const proxy = of(new URL(`${wanted.protocol}//${wanted.host ?? wanted.hostname}`))
    if (proxy === null) return direct(wanted, callback)
    const port = Number(wanted.port) || (isTls ? 443 : 80)
    openTunnel({ proxy, host: bare(addressOf(wanted)), port }, (error, socket) => {
      if (socket === null) callback(error ?? new Error('the proxy gave no connection'), null)
      else if (isTls) direct({ ...wanted, httpSocket: socket }, callback)
      else callback(null, socket)
    })
  }
}

type Callback = (error: Error | null, stream: Duplex) => void
type Asked = AgentOptions & ConnectionOptions & { readonly host?: string; readonly port?: number }

/** An agent of node:http or node:https that goes through a proxy where the rules say so, always by a tunnel. */
export function httpAgentThrough(
  { of }: OutboundProxies,
  protocol: 'http:' | 'https:',
  options: AgentOptions = {},
): PlainAgent | TlsAgent {
  const agent = protocol === 'https:' ? new TlsAgent(options) : new PlainAgent(options)
  const direct = agent.createConnection.bind(agent)
  agent.createConnection = (asked: Asked, callback?: Callback) => {
    const { host = 'localhost', port = protocol === 'https:' ? 443 : 80 } = asked
    const proxy = of(new URL(`${protocol}//${host.includes(':') ? `[${bare(host)}]` : host}:${port}`))
    if (proxy === null || callback === undefined) return direct(asked, callback)
    openTunnel({ proxy, host: bare(host), port }, (error, socket) => {
      if (socket === null) callback(error ?? new Error('the proxy gave no connection'), null as never)
      // A path is one of a Unix socket here, and that of the request otherwise.
      else callback(null, protocol === 'http:' ? socket : connectTls({ ...asked, path: undefined, socket }))
    })
    return undefined
  }
  return agent
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}
