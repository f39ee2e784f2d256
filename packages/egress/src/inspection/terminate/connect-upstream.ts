import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import { Client } from 'undici'
import type { Dispatcher } from 'undici'
import { boundChunks, textOf } from '../../egress/index.ts'
import type { Destination } from '../../egress/index.ts'
import { createHttp2Line } from './http2-line.ts'
import { protocolOf } from './secure-server.ts'
import type { Protocol, SecureServer } from './secure-server.ts'
import { rawHeaders } from './upstream-request.ts'
import type { SendUpstream } from './upstream-request.ts'

/** The maximum size of the headers of an answer, in bytes. */
const replyHeadersMaxBytes = 64 * 1024
/** How long an idle connection to the server is used again, in milliseconds; clients keep theirs as long. */
const keepAliveMs = 15_000

/** The connections to the server of one inspected connection: one at a time, opened again if the server closed it. */
export interface Upstream {
  /** What the first connection has negotiated. */
  readonly protocol: Protocol
  /** Sends a request in this version of HTTP, over a connection that negotiated it. */
  readonly send: Readonly<Record<Protocol, SendUpstream>>
  /** Opens a WebSocket on an HTTP/1.1 connection, which carries nothing else from then on. */
  readonly upgrade: (options: Dispatcher.UpgradeOptions) => Promise<Dispatcher.UpgradeData>
  /** Encrypted bytes to the server and from it, over all connections. */
  traffic(): { readonly out: number; readonly in: number }
  close(): Promise<void>
}

/** Opens the first connection, so that a server that cannot be reached is reported to the client before TLS begins. */
export async function connectUpstream(options: {
  readonly destination: Destination
  readonly dial: () => Promise<Socket>
  readonly secure: SecureServer
  /** What the first connection offers to the server. */
  readonly offered: readonly Protocol[]
  readonly clock: Clock
  readonly signal: AbortSignal
}): Promise<Upstream> {
  const { destination, signal } = options
  const { host } = destination
  const origin = `https://${textOf(destination)}`
  const closed = { out: 0, in: 0 }
  const sockets = new Set<Socket>()

  async function open(offered: readonly Protocol[]): Promise<TLSSocket> {
    const socket = await options.dial()
    sockets.add(socket)
    socket.once('close', () => {
      closed.out += socket.bytesWritten
      closed.in += socket.bytesRead
      sockets.delete(socket)
    })
    return options.secure(socket, { host, offered }, signal)
  }

  const first = await open(options.offered)
  const protocol = protocolOf(first)
  let unused: TLSSocket | null = first
  /** Returns the first connection if it is of this version, and else a new one. */
  async function connectionOf(wanted: Protocol): Promise<TLSSocket> {
    const known = unused
    unused = null
    if (known !== null && !known.destroyed && protocol === wanted) return known
    // A connection of the other version would never be used.
    known?.destroy()
    const opened = await open([wanted])
    if (protocolOf(opened) === wanted) return opened
    opened.destroy()
    throw new Error(`the server does not speak ${wanted}`)
  }

  const client = new Client(origin, {
    connect: (_options, callback) => {
      connectionOf('http/1.1').then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(error instanceof Error ? error : new Error('no connection'), null),
      )
    },
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // `tunnels` ends a connection without traffic.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: replyHeadersMaxBytes,
  })
  const line = createHttp2Line({
    origin,
    open: () => connectionOf('h2'),
    clock: options.clock,
    keepAliveMs,
  })
  return {
    protocol,
    send: { 'http/1.1': sendOver(client.compose(boundChunks)), h2: line.send },
    upgrade: (upgrade) => client.upgrade(upgrade),
    traffic: () => {
      let [out, into] = [closed.out, closed.in]
      for (const socket of sockets) {
        out += socket.bytesWritten
        into += socket.bytesRead
      }
      return { out, in: into }
    },
    close: async () => {
      // A connection that was never used would stay open.
      first.destroy()
      line.close()
      await client.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function sendOver(client: Pick<Dispatcher, 'request'>): SendUpstream {
  return async ({ method, path, headers, body, signal }) => {
    const reply = await client.request({
      method,
      path,
      headers: [...headers],
      body,
      responseHeaders: 'raw',
      signal,
    })
    reply.body.on('error', () => {})
    return {
      status: reply.statusCode,
      headers: rawHeaders(reply.headers),
      body: reply.body,
      trailers: () => [],
    }
  }
}
