import { connect as connectPlain } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { openTunnel } from '@flotilla/foundation/platform'
import type { TunnelProxy } from '@flotilla/foundation/platform'

/** The destination of a connection. */
export interface FarEnd {
  readonly host: string
  readonly port: number
  /** Null for a connection without TLS. The stored session of one connection makes the next handshake faster. */
  readonly tls: { readonly servername: string; session: Buffer | null } | null
  /** The proxy of the connection; null for none. */
  readonly proxy: TunnelProxy | null
}

/** Callbacks for the events of a connection. */
export interface LineHandlers {
  /** Called when the connection can carry bytes, after the TLS handshake if there is one. */
  open(): void
  taken(bytes: Buffer): void
  end(): void
  error(error: Error): void
  close(): void
}

/** The part of a socket that a connection needs. */
export interface Line extends Pick<Socket, 'writableLength'> {
  write(bytes: Uint8Array): void
  pause(): void
  resume(): void
  ref(): void
  unref(): void
  destroy(): void
}

/** After this idle time the operating system probes a connection to a provider, in milliseconds. */
const keepAliveProbeMs = 60_000

/** Opens a connection to the destination, directly or through its proxy. */
export function openLine(far: FarEnd, handlers: LineHandlers): Line {
  return far.proxy === null ? openDirect(far, handlers) : openProxied(far, far.proxy, handlers)
}

/**
 * All connections read into this buffer. The bytes are copied out before the next read, so a short read allocates no
 * more memory than it needs.
 */
const readInto = Buffer.allocUnsafeSlow(64 * 1024)

function openDirect(far: FarEnd, handlers: LineHandlers): Line {
  const address = {
    host: far.host,
    port: far.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    onread: {
      buffer: readInto,
      callback(length: number) {
        const bytes = Buffer.allocUnsafe(length)
        readInto.copy(bytes, 0, 0, length)
        handlers.taken(bytes)
        return true
      },
    },
  }
  const { tls } = far
  const socket = tls === null ? connectPlain(address) : connectTls({ ...address, ...tlsOptions(tls) })
  socket.on(tls === null ? 'connect' : 'secureConnect', handlers.open)
  return attach(socket, far, handlers)
}

/** Opens a connection through a proxy. TLS ends at the provider, so the proxy sees only the host name. */
function openProxied(far: FarEnd, proxy: TunnelProxy, handlers: LineHandlers): Line {
  let socket: Socket | null = null
  let isRef = true
  const giveUp = openTunnel({ proxy, host: far.host, port: far.port }, (error, tunnel) => {
    if (tunnel === null) {
      handlers.error(error ?? new Error('no tunnel'))
      return
    }
    tunnel.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs)
    const { tls } = far
    socket = tls === null ? tunnel : connectTls({ socket: tunnel, ...tlsOptions(tls) })
    if (!isRef) socket.unref()
    // The reader modifies the bytes that it gets, so it gets a copy.
    socket.on('data', (bytes: Buffer) => handlers.taken(Buffer.from(bytes)))
    attach(socket, far, handlers)
    if (tls === null) handlers.open()
    else socket.on('secureConnect', handlers.open)
  })
  return {
    get writableLength() {
      return socket?.writableLength ?? 0
    },
    write: (bytes) => void socket?.write(bytes),
    pause: () => void socket?.pause(),
    resume: () => void socket?.resume(),
    ref: () => {
      isRef = true
      socket?.ref()
    },
    unref: () => {
      isRef = false
      socket?.unref()
    },
    destroy: () => {
      giveUp()
      socket?.destroy()
    },
  }
}

function attach(socket: Socket, { tls }: FarEnd, handlers: LineHandlers): Socket {
  socket.on('end', handlers.end).on('error', handlers.error).on('close', handlers.close)
  if (tls !== null) {
    socket.on('session', (session: Buffer) => {
      tls.session = session
    })
  }
  return socket
}

function tlsOptions({ servername, session }: NonNullable<FarEnd['tls']>) {
  return { servername, ALPNProtocols: ['http/1.1'], ...(session ? { session } : {}) }
}
