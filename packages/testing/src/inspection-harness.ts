import { once } from 'node:events'
import { connect as connectHttp2, createSecureServer as createHttp2Server } from 'node:http2'
import type {
  ClientHttp2Session,
  Http2SecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
} from 'node:http2'
import { createServer } from 'node:https'
import type { RequestListener } from 'node:http'
import type { Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { Problem } from '@flotilla/protocol/problem'
import { createHostCertificates } from '../../egress/src/inspection/authority/host-certificates.ts'
import {
  makeKeyPair,
  signAuthority,
  signHost,
} from '../../egress/src/inspection/authority/sign-certificate.ts'
import type { Authority } from '../../egress/src/inspection/authority/sign-certificate.ts'
import { createInspectedServer } from '../../egress/src/inspection/terminate/inspected-server.ts'
import type { InspectedServerDeps } from '../../egress/src/inspection/terminate/inspected-server.ts'
import { createSecureServer } from '../../egress/src/inspection/terminate/secure-server.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { systemClock } from '../../foundation/src/platform/system-clock.ts'
import { aProxy } from './proxy-harness.ts'
import type { ProxyHarness, ProxyHarnessOptions } from './proxy-harness.ts'

export async function anAuthority(commonName: string): Promise<Authority> {
  const key = await makeKeyPair()
  return { commonName, key, certificate: await signAuthority(commonName, key, Date.now()) }
}

/** A TLS server on loopback whose certificate is signed by `authority`. */
export async function aTlsSite(
  authority: Authority,
  hosts: string,
  answer: RequestListener,
): Promise<{
  readonly port: number
  readonly server: Server
  readonly connections: Socket[]
  close(): Promise<void>
}> {
  const key = await makeKeyPair()
  const cert = await signHost(authority, { host: hosts, publicKey: key.publicKey, now: Date.now() })
  const server = createServer(
    { key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: cert + authority.certificate },
    answer,
  )
  const connections: Socket[] = []
  server.on('secureConnection', (socket: Socket) => {
    connections.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    server,
    connections,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** A site that speaks HTTP/2, and HTTP/1.1 with clients that do not; on loopback, signed by `authority`. */
export async function anHttp2Site(
  authority: Authority,
  host: string,
  answer: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<{
  readonly port: number
  readonly server: Http2SecureServer
  /** The version of HTTP of each connection. */
  readonly protocols: string[]
  /** Ends all open connections, as a server does that restarts. */
  endConnections(): Promise<void>
  close(): Promise<void>
}> {
  const key = await makeKeyPair()
  const cert = await signHost(authority, { host, publicKey: key.publicKey, now: Date.now() })
  const server = createHttp2Server(
    {
      key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: cert + authority.certificate,
      allowHTTP1: true,
    },
    answer,
  )
  const protocols: string[] = []
  const connections = new Set<TLSSocket>()
  server.on('secureConnection', (socket: TLSSocket) => {
    protocols.push(socket.alpnProtocol || 'none')
    connections.add(socket)
    socket.on('error', () => {}).once('close', () => connections.delete(socket))
  })
  server.on('sessionError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    server,
    protocols,
    endConnections: async () => {
      const ends = [...connections].map((socket) => once(socket, 'close'))
      for (const socket of connections) socket.destroy()
      await Promise.all(ends)
    },
    close: async () => {
      for (const socket of connections) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Opens a session of Node's HTTP/2 client over an inspected connection. */
export async function openSession(
  proxy: InspectionHarness,
  target: string,
  token?: string,
): Promise<ClientHttp2Session> {
  const connection = await proxy.open(target, { ALPNProtocols: ['h2'] }, token)
  const session = connectHttp2(`https://${target}`, {
    createConnection: () => connection,
    maxSessionMemory: 100,
  })
  session.on('error', () => {})
  return session
}

export interface InspectionHarness extends ProxyHarness {
  /** The authority of the fleet, which programs of its agents trust. */
  readonly fleet: Authority
  readonly failures: { readonly host: string; readonly why: string }[]
  /** The hosts of connections on which a request arrived. */
  readonly served: string[]
  readonly decided: { readonly method: string; readonly path: string }[]
  /** Opens an inspected connection as a program does. */
  open(target: string, tls?: ConnectionOptions, token?: string): Promise<TLSSocket>
  /** Sends `text` on its own inspected connection and returns everything until the connection is closed. */
  send(target: string, text: string, tls?: ConnectionOptions): Promise<string>
}

export interface InspectionOptions {
  readonly takeTurn?: InspectedServerDeps['takeTurn']
  readonly ask?: InspectedServerDeps['ask']
  readonly stalledStreamMs?: number
}

/**
 * Starts a site that speaks HTTP/2, which answers `an answer` unless `answer` is given, and a proxy that inspects its host.
 * Both are added to `running`, whose members the test closes.
 */
export async function anInspectedHttp2Site(
  host: string,
  running: { close(): unknown }[],
  {
    answer = (_request, response) => void response.end('an answer'),
    ...options
  }: InspectionOptions & { readonly answer?: Parameters<typeof anHttp2Site>[2] | undefined } = {},
) {
  const outside = await anAuthority('outside')
  const requests: Http2ServerRequest[] = []
  const site = await anHttp2Site(outside, host, (request, response) => {
    requests.push(request)
    answer(request, response)
  })
  const proxy = await anInspectingProxy({ hosts: [host], outside, ports: [site.port], ...options })
  running.push(site, proxy)
  return { outside, site, proxy, requests, target: `${host}:${site.port}` }
}

/** A forward proxy that inspects `hosts`, on loopback. `outside` signs the certificates of servers. */
export async function anInspectingProxy(
  options: ProxyHarnessOptions &
    InspectionOptions & {
      readonly hosts: readonly string[]
      readonly outside: Pick<Authority, 'certificate'>
    },
): Promise<InspectionHarness> {
  const fleet = await anAuthority('a fleet')
  const failures: { host: string; why: string }[] = []
  const served: string[] = []
  const decided: { method: string; path: string }[] = []
  const plain: InspectedServerDeps['takeTurn'] = () => ({
    fill: (headers) => ({ headers }),
    fillWebSocket: (headers) => headers,
    fillApproved: (headers) => headers,
    answer: { headers: (raw) => raw, body: () => null },
    settled: () => {},
  })
  const serve = createInspectedServer({
    certificateOf: createHostCertificates({ authority: fleet, clock: systemClock }),
    ask:
      options.ask ??
      (async () => {
        throw new Problem('approval-required')
      }),
    takeTurn: (connection, request) => {
      decided.push(request)
      return (options.takeTurn ?? plain)(connection, request)
    },
    secure: createSecureServer([options.outside.certificate]),
    onHandshakeFailed: ({ destination }, why) => void failures.push({ host: destination.host, why }),
    onServed: ({ destination }) => void served.push(destination.host),
    newRequestId: () => 'request-1',
    ...(options.stalledStreamMs === undefined ? {} : { stalledStreamMs: options.stalledStreamMs }),
    clock: systemClock,
    log: silentLog,
  })
  const proxy = await aProxy({
    ...options,
    inspector: { isInspected: (host) => options.hosts.includes(host), serve },
  })
  const clients: Socket[] = []
  async function open(target: string, tls: ConnectionOptions = {}, token?: string): Promise<TLSSocket> {
    const { socket, head } = await proxy.tunnel(target, token)
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(head)
    const servername = target.replace(/:\d+$/, '')
    // The TLS connection inherits this from its socket.
    socket.allowHalfOpen = false
    const client = connect({ socket, servername, ca: fleet.certificate, ...tls })
    clients.push(client)
    client.on('error', () => {})
    await new Promise<void>((resolve, reject) => {
      client.once('secureConnect', resolve)
      client.once('close', () => reject(new Error('the handshake failed')))
      client.once('error', reject)
    })
    return client
  }
  return {
    ...proxy,
    fleet,
    failures,
    served,
    decided,
    open,
    send: async (target, text, tls) => {
      const client = await open(target, tls)
      client.write(text, 'latin1')
      let answer = ''
      client.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
      await new Promise((resolve) => client.once('close', resolve))
      return answer
    },
    close: async () => {
      for (const client of clients) client.destroy()
      await proxy.close()
    },
  }
}
