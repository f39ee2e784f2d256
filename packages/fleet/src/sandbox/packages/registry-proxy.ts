import { chmod, mkdir, open, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { httpAgentThrough, openTunnel } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'

/** The maximum number of connections that one build may have open; package managers use about 20. */
const connectionsMax = 64
/** A connection without traffic is closed after this time, in milliseconds. */
const idleMaxMs = 120_000

export interface RegistryProxy {
  /** Requests that were refused because their host is not a registry, as `host:port`. */
  readonly refused: ReadonlySet<string>
  /** Closes the socket and all connections. Idempotent. */
  close(): Promise<void>
}

export interface RegistryProxyOptions {
  /** The folder to create for the socket `proxy.sock`; it is removed at the end. */
  readonly folder: string
  /** The registries as `host:port`; every other destination is refused. */
  readonly hosts: ReadonlySet<string>
  /** The proxies that this machine itself uses. */
  readonly proxies: OutboundProxies
}

/**
 * Opens an HTTP proxy on a Unix socket that connects to package registries and to nothing else. A container without a
 * network that has the socket can reach the registries until the proxy is closed.
 */
export async function openRegistryProxy(options: RegistryProxyOptions): Promise<RegistryProxy> {
  const { folder, hosts, proxies } = options
  const refused = new Set<string>()
  const open_ = new Set<Duplex>()
  const track = (socket: Duplex): void => {
    open_.add(socket)
    socket.once('close', () => open_.delete(socket))
  }
  const isRegistry = (target: string): boolean => {
    if (hosts.has(target)) return true
    if (refused.size < connectionsMax) refused.add(target)
    return false
  }
  const agent = httpAgentThrough(proxies, 'http:', { keepAlive: false })
  const server = createServer((asked, reply) => forward({ asked, reply, agent, isRegistry }))
  server.maxConnections = connectionsMax
  server.setTimeout(idleMaxMs)
  server.on('connection', track)
  server.on('connect', (asked, client, head) => {
    const target = targetOf(asked.url ?? '')
    if (target === null || !isRegistry(`${target.host}:${target.port}`)) {
      client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    client.on('error', () => client.destroy())
    reach(proxies, target, (socket) => {
      if (socket === null) {
        client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
        return
      }
      track(socket)
      socket.setTimeout(idleMaxMs, () => socket.destroy())
      socket.on('error', () => socket.destroy()).on('close', () => client.destroy())
      client.on('close', () => socket.destroy())
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) socket.write(head)
      client.pipe(socket).pipe(client)
    })
  })
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
  // With user namespaces, the container's root is another user of this machine.
  await chmod(folder, 0o755)
  await chmod(`${folder}/proxy.sock`, 0o666)
  let closed: Promise<void> | null = null
  return {
    refused,
    close: () => {
      closed ??= (async () => {
        const ended = new Promise<void>((resolve) => server.close(() => resolve()))
        for (const socket of open_) socket.destroy()
        agent.destroy()
        await ended
        await rm(folder, { recursive: true, force: true })
      })()
      return closed
    },
  }
}

interface Forwarding {
  readonly asked: IncomingMessage
  readonly reply: ServerResponse
  readonly agent: ReturnType<typeof httpAgentThrough>
  readonly isRegistry: (target: string) => boolean
}

/** Forwards a plain HTTP request, as apt makes them; a registry is read and never written to. */
function forward({ asked, reply, agent, isRegistry }: Forwarding): void {
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : null
  const isRead = asked.method === 'GET' || asked.method === 'HEAD'
  if (url?.protocol !== 'http:' || !isRead || !isRegistry(`${url.hostname}:${url.port || '80'}`)) {
    reply.writeHead(403).end()
    return
  }
  const { connection: _connection, 'proxy-connection': _proxy, ...headers } = asked.headers
  const upstream = request(
    { host: url.hostname, port: url.port || 80, path: `${url.pathname}${url.search}`, headers, agent },
    (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
      answer.on('error', () => reply.destroy())
    },
  )
  upstream.setTimeout(idleMaxMs, () => upstream.destroy())
  upstream.on('error', () => {
    if (reply.headersSent) reply.destroy()
    else reply.writeHead(502).end()
  })
  reply.on('close', () => upstream.destroy())
  upstream.end()
}

interface Target {
  readonly host: string
  readonly port: number
}

function targetOf(authority: string): Target | null {
  const [, host, port] = /^([a-z0-9.-]{1,255}):(\d{1,5})$/i.exec(authority) ?? []
  return host === undefined || port === undefined ? null : { host: host.toLowerCase(), port: Number(port) }
}

function reach(
  proxies: OutboundProxies,
  { host, port }: Target,
  done: (socket: Socket | null) => void,
): void {
  const proxy = proxies.of(new URL(`https://${host}:${port}`))
  if (proxy !== null) {
    openTunnel({ proxy, host, port }, (_error, socket) => done(socket))
    return
  }
  const socket = connect({ host, port })
  const failed = (): void => done(null)
  socket.once('error', failed)
  socket.once('connect', () => {
    socket.off('error', failed)
    done(socket)
  })
}
