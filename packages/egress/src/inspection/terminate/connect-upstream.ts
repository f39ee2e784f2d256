import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { Problem } from '@flotilla/protocol/problem'
import { Client } from 'undici'
import type { Dispatcher } from 'undici'
import { boundChunks, textOf } from '../../egress/index.ts'
import type { Destination } from '../../egress/index.ts'

/** How long the server may take for the TLS handshake, in milliseconds. */
const handshakeTimeoutMs = 10_000
/** The maximum size of the headers of an answer, in bytes. */
const replyHeadersMaxBytes = 64 * 1024
/** How long an idle connection to the server is used again, in milliseconds; clients keep theirs as long. */
const keepAliveMs = 15_000

/** Completes TLS on a connection to a server. Its certificate must be valid for the host. */
export type SecureServer = (socket: Socket, host: string, signal: AbortSignal) => Promise<TLSSocket>

/** `authorities` replaces the certificate authorities that the mesh trusts. */
export const createSecureServer =
  (authorities?: readonly string[]): SecureServer =>
  async (socket, host, signal) => {
    const server = connect({
      socket,
      ...(authorities === undefined ? {} : { ca: [...authorities] }),
      ...(isIP(host) === 0 ? { servername: host } : { host }),
      ALPNProtocols: ['http/1.1'],
      minVersion: 'TLSv1.2',
    })
    const cut = () => server.destroy()
    signal.addEventListener('abort', cut, { once: true })
    server.setTimeout(handshakeTimeoutMs, cut)
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('secureConnect', resolve)
        server.once('error', reject)
        server.once('close', () => reject(new Error('the server closed the connection')))
      })
      server.setTimeout(0).removeAllListeners('timeout')
      return server
    } catch (error) {
      server.on('error', () => {}).destroy()
      socket.destroy()
      if (signal.aborted) throw signal.reason
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
      throw new Problem('upstream-failed', {
        detail: `the TLS handshake with ${host} failed${code}; the mesh accepts only certificates that this machine trusts`,
        cause: error,
      })
    } finally {
      signal.removeEventListener('abort', cut)
    }
  }

/** The connections to the server of one inspected connection: one at a time, opened again if the server closed it. */
export interface Upstream {
  readonly client: Pick<Dispatcher, 'request'>
  /** Opens a WebSocket on the connection, which carries nothing else from then on. */
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
  readonly signal: AbortSignal
}): Promise<Upstream> {
  const { destination, signal } = options
  const closed = { out: 0, in: 0 }
  let current: Socket | null = null

  async function open(): Promise<TLSSocket> {
    const socket = await options.dial()
    current = socket
    socket.once('close', () => {
      closed.out += socket.bytesWritten
      closed.in += socket.bytesRead
      if (current === socket) current = null
    })
    return options.secure(socket, destination.host, signal)
  }

  let first: TLSSocket | null = await open()
  const client = new Client(`https://${textOf(destination)}`, {
    connect: (_options, callback) => {
      const ready = first !== null && !first.destroyed ? Promise.resolve(first) : open()
      first = null
      ready.then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(error instanceof Error ? error : new Error('no connection'), null),
      )
    },
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // `tunnels` ends a connection without traffic.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: replyHeadersMaxBytes,
  })
  // A client that is never used would leave the first connection open.
  const unused = first
  return {
    client: client.compose(boundChunks),
    upgrade: (options) => client.upgrade(options),
    traffic: () => ({
      out: closed.out + (current?.bytesWritten ?? 0),
      in: closed.in + (current?.bytesRead ?? 0),
    }),
    close: async () => {
      unused.destroy()
      await client.destroy()
      current?.destroy()
    },
  }
}
