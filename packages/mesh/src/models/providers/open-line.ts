import { connect as connectPlain } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { openTunnel } from '../../platform/index.ts'
import type { TunnelProxy } from '../../platform/index.ts'

/** Where a connection leads to. */
export interface FarEnd {
  readonly host: string
  readonly port: number
  /** The session of one connection makes the next one faster. */
  readonly tls: { readonly servername: string; session: Buffer | null } | null
  /** What the connection goes through; null for none. */
  readonly proxy: TunnelProxy | null
}

/** What is heard of a line. */
export interface LineHears {
  /** It carries bytes, over TLS where that is asked for. */
  open(): void
  taken(bytes: Buffer): void
  end(): void
  error(error: Error): void
  close(): void
}

/** As much of a socket as a connection needs. */
export interface Line extends Pick<Socket, 'writableLength'> {
  write(bytes: Uint8Array): void
  pause(): void
  resume(): void
  ref(): void
  unref(): void
  destroy(): void
}

const keepAliveProbeMs = 60_000

/** Opens a line to the far end, directly or through its proxy. */
export function openLine(far: FarEnd, hears: LineHears): Line {
  return far.proxy === null ? openDirect(far, hears) : openProxied(far, far.proxy, hears)
}

/** What any connection reads comes here first, and is copied out before the next one reads: no memory is made for what is short. */
const readInto = Buffer.allocUnsafeSlow(64 * 1024)

function openDirect(far: FarEnd, hears: LineHears): Line {
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
        hears.taken(bytes)
        return true
      },
    },
  }
  const { tls } = far
  const socket = tls === null ? connectPlain(address) : connectTls({ ...address, ...tlsOptions(tls) })
  socket.on(tls === null ? 'connect' : 'secureConnect', hears.open)
  return heard(socket, far, hears)
}

/** TLS is spoken with the far end: the proxy sees its name and no more. */
function openProxied(far: FarEnd, proxy: TunnelProxy, hears: LineHears): Line {
  let socket: Socket | null = null
  let isRef = true
  const giveUp = openTunnel({ proxy, host: far.host, port: far.port }, (error, tunnel) => {
    if (tunnel === null) {
      hears.error(error ?? new Error('no tunnel'))
      return
    }
    tunnel.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs)
    const { tls } = far
    socket = tls === null ? tunnel : connectTls({ socket: tunnel, ...tlsOptions(tls) })
    if (!isRef) socket.unref()
    // The reader changes what it is given.
    socket.on('data', (bytes: Buffer) => hears.taken(Buffer.from(bytes)))
    heard(socket, far, hears)
    if (tls === null) hears.open()
    else socket.on('secureConnect', hears.open)
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

function heard(socket: Socket, { tls }: FarEnd, hears: LineHears): Socket {
  socket.on('end', hears.end).on('error', hears.error).on('close', hears.close)
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
