import { chmod, mkdir, open, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { buildMaxBytes, createForwarder } from './forward-request.ts'
import type { RegistryTable } from './registry-table.ts'

/** The maximum number of connections that one build may have open; package managers use about 20. */
const connectionsMax = 64
/** The maximum number of refused destinations, and of failed answers, that are remembered for the error message. */
const rememberedMax = 20
/** A connection without traffic is closed after this time, in milliseconds. */
const idleMaxMs = 120_000

export interface RegistryProxy {
  /** Destinations that were refused because they do not belong to a registry, as `host:port`. */
  readonly refused: ReadonlySet<string>
  /** Registries that did not answer, or not with an answer, each with the reason. */
  readonly unreachable: ReadonlySet<string>
  /** The maximum size of all answers of registries together, in bytes, and whether it was exceeded. */
  readonly maxBytes: number
  isFull(): boolean
  /** Closes the socket and all connections. Idempotent. */
  close(): Promise<void>
}

export interface RegistryProxyOptions {
  /** The folder to create for the socket `proxy.sock`; it is removed at the end. */
  readonly folder: string
  /** The registries; every other destination is refused. Registries may be added while the proxy is open. */
  readonly registries: Pick<RegistryTable, 'byLocal' | 'toLocal' | 'authorizationFor' | 'localize'>
  /** The proxies that this machine itself uses. */
  readonly proxies: OutboundProxies
  /** The maximum size of all answers of registries together, in bytes; the limit of a build if it is absent. */
  readonly maxBytes?: number | undefined
}

/**
 * Opens an HTTP server on a Unix socket that passes requests on to package registries, with the credentials of this
 * machine, and to nothing else: a package manager chooses a registry by its loopback address, and tunnels and absolute
 * addresses are refused. A container without a network that has the socket can read the registries until the proxy is
 * closed. No request ends the mesh: every error ends its own connection.
 */
export async function openRegistryProxy(options: RegistryProxyOptions): Promise<RegistryProxy> {
  const { folder, maxBytes = buildMaxBytes } = options
  const refused = new Set<string>()
  const connections = new Set<Duplex>()
  const refuse = (target: string): void => {
    if (refused.size < rememberedMax) refused.add(target.slice(0, 255))
  }
  const unreachable = new Set<string>()
  const lost = (why: string): void => {
    if (unreachable.size < rememberedMax) unreachable.add(why.slice(0, 300))
  }
  const forwarder = createForwarder({ ...options, maxBytes, refuse, lost })
  const server = createServer((asked, reply) => forwarder.forward(asked, reply))
  server.maxConnections = connectionsMax
  server.setTimeout(idleMaxMs)
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.on('error', () => socket.destroy()).once('close', () => connections.delete(socket))
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  server.on('connect', (asked, client) => {
    refuse(asked.url ?? '')
    client.on('error', () => client.destroy())
    client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
  })
  server.on('upgrade', (_asked, client) => client.destroy())
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o755 })
  // The path through the open folder has a fixed length: the kernel limits the path of a socket to 107 bytes.
  const handle = await open(folder)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(`/proc/self/fd/${handle.fd}/proxy.sock`, resolve)
    })
  } finally {
    await handle.close()
  }
  // A failed accept, for example without free file descriptors, loses that connection alone.
  server.on('error', () => undefined)
  // With user namespaces, the container's root is another user of this machine.
  await chmod(folder, 0o755)
  await chmod(`${folder}/proxy.sock`, 0o666)
  let closed: Promise<void> | null = null
  return {
    refused,
    unreachable,
    maxBytes,
    isFull: forwarder.isFull,
    close: () => {
      closed ??= (async () => {
        const ended = new Promise<void>((resolve) => server.close(() => resolve()))
        for (const socket of connections) socket.destroy()
        forwarder.close()
        await ended
        await rm(folder, { recursive: true, force: true })
      })()
      return closed
    },
  }
}
