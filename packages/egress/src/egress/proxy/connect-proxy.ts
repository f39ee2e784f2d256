import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { linkedAgentOf, requestsInChunks } from '@flotilla/identity/http'
import type { Log } from '@flotilla/foundation/platform'
import { decidedRequest } from '@flotilla/identity/policy'
import { forwardAbsolute } from './forward-absolute.ts'
import type { OpenTunnel } from './open-tunnel.ts'
import type { Tunnels } from './tunnels.ts'
import type { Inspector } from './inspected-connection.ts'
import type { ProxyGate } from './proxy-gate.ts'
import { refusalOf, refuseResponse, refuseSocket } from './proxy-refusal.ts'
import { readAbsoluteTarget, readConnectTarget } from './proxy-target.ts'
import { dial, joinEnds } from './proxy-tunnel.ts'

/** The maximum size of the headers of one request to the egress proxy, in bytes. */
const headersMaxBytes = 16 * 1024
/** How long a client may take to send the headers of a request to the egress proxy, in milliseconds. */
const headersTimeoutMs = 10_000
/** How many times per timeout slow headers are checked. */
const checksPerTimeout = 5
/** How long an idle connection to the egress proxy stays open, in milliseconds. */
const keepAliveMs = 15_000

/**
 * The forward proxy: the only way for programs in a container to reach the network.
 * P1 The token alone identifies the client, for each request (`proxy-gate`).
 * P2 Each destination is checked once, and connected to at the checked addresses (`check-destination`).
 * P3 No connection outlives its run, its token or the mesh (`tunnels`).
 * P4 The proxy parses each request strictly and writes a new one, so that the server cannot parse it differently.
 */
export interface ConnectProxy {
  /** Rejects if the port is in use. */
  listen(where: { readonly port: number; readonly host: string }): Promise<unknown>
  port(): number
  close(): Promise<void>
}

export interface ServedProxy extends ConnectProxy {
  /** The HTTP server, for a caller that accepts the connections itself. */
  readonly server: Server
}

export interface ConnectProxyDeps {
  readonly gate: ProxyGate
  readonly openTunnel: OpenTunnel
  readonly tunnels: Pick<Tunnels, 'cut'>
  readonly newRequestId: () => string
  readonly clock: Clock
  readonly log: Log
  /** Limits connections that are not authenticated yet, and what one connection may send. */
  readonly bound: (server: Server) => void
  /** Returns what inspects hosts that the owner names; null if every host is a tunnel. */
  readonly inspector: () => Inspector | null
  /** Time limit from the first byte of a connection to the end of its headers. */
  readonly headersTimeoutMs?: number
}

export function createConnectProxy(deps: ConnectProxyDeps): ServedProxy {
  const server = createServer({
    maxHeaderSize: headersMaxBytes,
    headersTimeout: deps.headersTimeoutMs ?? headersTimeoutMs,
    // A body may take as long as its tunnel; `tunnels` ends an idle tunnel.
    requestTimeout: 0,
    connectionsCheckingInterval: (deps.headersTimeoutMs ?? headersTimeoutMs) / checksPerTimeout,
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: false,
    insecureHTTPParser: false,
    noDelay: true,
    IncomingMessage: requestsInChunks((socket) => socket.destroy()),
  })
  deps.bound(server)

  function refusal(error: unknown) {
    const refused = refusalOf(error, deps.newRequestId())
    if (refused.code === 'internal-error')
      deps.log.error({ err: error }, 'internal error in the forward proxy; the request is rejected')
    return refused
  }

  async function serveConnect(request: IncomingMessage, near: Duplex, head: Buffer): Promise<void> {
    const gone = watchDisconnect(near)
    try {
      const identity = deps.gate(request.headers['proxy-authorization'], linkedAgentOf(request.socket))
      const destination = readConnectTarget(request.url)
      // The content is unknown yet, so port 80 is treated as plain HTTP and every other port as TLS.
      const protocol = destination.port === 80 ? 'http:' : 'https:'
      const found = deps.inspector()
      const inspector = found?.isInspected(destination.host) === true ? found : null
      const target = { destination, protocol, isInspected: inspector !== null } as const
      const checked = await deps.openTunnel(identity, target, gone.signal)
      const { tunnel } = checked
      try {
        if (inspector !== null) {
          const connect = (signal: AbortSignal) => dial(checked, signal)
          const given = { identity, destination, near, head, tunnel, signal: gone.signal, dial: connect }
          await inspector.serve(given)
          return
        }
        const signal = AbortSignal.any([gone.signal, tunnel.signal])
        const far = await dial(checked, signal)
        tunnel.measure(() => ({ out: far.bytesWritten, in: far.bytesRead }))
        near.write('HTTP/1.1 200 Connection established\r\n\r\n')
        await joinEnds(near, far, { head, signal: tunnel.signal })
      } finally {
        tunnel.close()
      }
    } catch (error) {
      refuseSocket(near, refusal(error), deps.clock)
    } finally {
      gone.forget()
    }
  }

  async function serveAbsolute(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = watchDisconnect(response)
    try {
      const identity = deps.gate(request.headers['proxy-authorization'], linkedAgentOf(request.socket))
      const target = readAbsoluteTarget(request.url)
      const tunnelTarget = {
        destination: target.destination,
        protocol: 'http:',
        sent: decidedRequest(
          { method: request.method ?? 'GET', path: target.url.pathname, query: target.url.search },
          request.rawHeaders,
        ),
      } as const
      const checked = await deps.openTunnel(identity, tunnelTarget, gone.signal)
      try {
        const signal = AbortSignal.any([gone.signal, checked.tunnel.signal])
        await forwardAbsolute(checked, { request, response, target, signal })
      } finally {
        checked.tunnel.close()
      }
    } catch (error) {
      refuseResponse(response, refusal(error))
    } finally {
      gone.forget()
    }
  }

  server.on('connect', (request, near: Duplex, head: Buffer) => void serveConnect(request, near, head))
  server.on('request', (request, response) => void serveAbsolute(request, response))
  server.on('clientError', (error: Error & { readonly code?: string }, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuseSocket(socket, refusal(brokenHttp(error.code)), deps.clock)
  })

  return {
    server,
    listen: ({ port, host }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve(undefined)
        })
      }),
    port: () => {
      const address = server.address()
      return typeof address === 'object' && address !== null ? address.port : 0
    },
    close: async () => {
      deps.tunnels.cut(new Problem('cancelled', { detail: 'the mesh stops' }))
      if (!server.listening) return
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

/** Returns a signal that aborts when the client disconnects, and a function that stops watching the client. */
function watchDisconnect(client: Duplex | ServerResponse): { readonly signal: AbortSignal; forget(): void } {
  const gone = new AbortController()
  const onClose = () => gone.abort(new Problem('client-gone'))
  client.once('close', onClose)
  client.on('error', onClose)
  return { signal: gone.signal, forget: () => client.off('close', onClose) }
}

function brokenHttp(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Problem('body-too-large', { detail: `the headers are larger than ${headersMaxBytes} bytes` })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Problem('bad-request', { detail: 'the headers took too long' })
  }
  return new Problem('bad-request', { detail: 'the request to the proxy is not HTTP/1.1' })
}
