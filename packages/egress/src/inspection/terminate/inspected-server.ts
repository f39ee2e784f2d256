import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import type { HandshakeFailure } from '@flotilla/protocol/inspection-api'
import { Problem } from '@flotilla/protocol/problem'
import { oneRequestAtATime, requestsInChunks } from '@flotilla/identity/http'
import {
  inspectedRequestHeaders,
  refuseResponse,
  refuseSocket,
  webSocketRequestHeaders,
} from '../../egress/index.ts'
import type { InspectedConnection } from '../../egress/index.ts'
import type { CertificateOf } from '../authority/host-certificates.ts'
import type { KeptAnswer } from './asked-request.ts'
import { acceptClient } from './accept-client.ts'
import { checkInnerRequest } from './check-inner-request.ts'
import { connectUpstream } from './connect-upstream.ts'
import { forwardInspected } from './forward-inspected.ts'
import { createNegotiatedProtocols } from './negotiated-protocols.ts'
import { openWebSocket } from './open-web-socket.ts'
import type { RequestTurn } from './request-turn.ts'
import { protocolOf } from './secure-server.ts'
import type { SecureServer } from './secure-server.ts'
import { createServeRequest, inspectedRefusal } from './serve-request.ts'
import type { ServeRequestDeps, Session } from './serve-request.ts'
import { createServeStreams } from './serve-streams.ts'
import { shownHost } from './shown-host.ts'

/** The maximum size of the headers of one request inside an inspected connection, in bytes. */
const headersMaxBytes = 32 * 1024
/** How long a client may take to send the headers of a request, in milliseconds. */
const headersTimeoutMs = 10_000
/** How long an idle connection of a client stays open, in milliseconds. */
const keepAliveMs = 15_000

export interface InspectedServerDeps extends ServeRequestDeps {
  readonly certificateOf: CertificateOf
  readonly secure: SecureServer
  readonly onHandshakeFailed: (connection: InspectedConnection, why: HandshakeFailure) => void
  /** A program that trusts the mesh has sent a request. */
  readonly onServed: (connection: InspectedConnection) => void
  readonly clock: Clock
  /** How long an answer over HTTP/2 may wait for a client that does not read it, in milliseconds. */
  readonly stalledStreamMs?: number
}

/**
 * Serves the connections of programs to inspected hosts: the mesh is the server of the TLS connection, checks and
 * decides each request, and sends it over its own verified connection to the host.
 * I1 A request leaves only for the host and port that the connection was opened to and that the filter checked.
 * I2 Each request is decided, also the second one of a connection.
 * I3 The mesh parses each request strictly and writes a new one, so that the server cannot parse it differently.
 * I4 A connection that the client does not trust ends; it never becomes a tunnel.
 */
export function createInspectedServer(
  deps: InspectedServerDeps,
): (connection: InspectedConnection) => Promise<void> {
  const sessions = new WeakMap<Duplex, Session>()
  const server = createServer({
    maxHeaderSize: headersMaxBytes,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: true,
    insecureHTTPParser: false,
    IncomingMessage: requestsInChunks((socket) => socket.destroy()),
  })
  oneRequestAtATime(server)

  const refusal = (error: unknown) => inspectedRefusal(deps, error)
  const serveRequest = createServeRequest(deps)
  const serveStreams = createServeStreams({ ...deps, serveRequest })
  const protocols = createNegotiatedProtocols()

  async function serveMessage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.get(request.socket)
    if (!session) return void request.socket.destroy()
    const { destination } = session.connection
    await serveRequest(session, {
      read: () => {
        const { method = 'GET', url: path = '/', rawHeaders } = request
        checkInnerRequest({ method, target: path, rawHeaders }, destination)
        return { method, path, ...inspectedRequestHeaders(request, shownHost(destination)) }
      },
      body: request,
      signal: session.signal,
      forward: (forwarded) =>
        forwardInspected(session.upstream.send['http/1.1'], forwarded, { request, response }),
      answerKept: (answer) => answerKept(response, answer),
      refuse: (refused) => refuseResponse(response, refused),
    })
  }

  /** Opens a WebSocket: the request is decided like any other; what follows is carried as it is. */
  async function serveUpgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const session = sessions.get(client)
    if (!session) return void client.destroy()
    const { connection, upstream, signal } = session
    session.onRequest()
    const { destination } = connection
    const path = request.url ?? '/'
    let turn: RequestTurn | null = null
    try {
      const method = request.method ?? ''
      checkInnerRequest({ method, target: path, rawHeaders: request.rawHeaders }, destination)
      const offered = webSocketRequestHeaders(request, shownHost(destination))
      turn = await deps.takeTurn(connection, { method, path })
      const headers = turn.fillWebSocket(offered)
      const { answer } = turn
      const { clock } = deps
      const ended = openWebSocket(upstream, {
        clock,
        client,
        head,
        host: destination.host,
        path,
        headers,
        answer,
        signal,
      })
      turn.settled({ status: await ended })
    } catch (error) {
      const refused = refusal(error)
      turn?.settled({ problem: refused.code })
      refuseSocket(client, refused, deps.clock)
    }
  }

  server.on('request', (request, response) => void serveMessage(request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void serveUpgrade(request, socket, head)
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const detail = 'a tunnel inside an inspected connection is refused'
    refuseSocket(socket, refusal(new Problem('bad-request', { detail })), deps.clock)
  })
  server.on('clientError', (error: Error & { readonly code?: string }, socket) => {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    const detail = 'the request inside an inspected connection is not HTTP/1.1'
    refuseSocket(socket, refusal(new Problem('bad-request', { detail })), deps.clock)
  })

  return async (connection) => {
    const { near, tunnel, destination, identity } = connection
    const { agentId } = identity.caller
    const signal = AbortSignal.any([connection.signal, tunnel.signal])
    if (!(near instanceof Socket))
      throw new Problem('bad-request', { detail: 'the connection has no socket' })
    const context = await deps.certificateOf(destination.host)
    const upstream = await connectUpstream({
      destination,
      dial: () => connection.dial(signal),
      secure: deps.secure,
      offered: protocols.toServer(agentId, destination),
      clock: deps.clock,
      signal,
    })
    try {
      tunnel.measure(upstream.traffic)
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const { head } = connection
      const accepted = await acceptClient(near, {
        host: destination.host,
        context,
        head,
        offered: protocols.toProgram(agentId, destination, upstream.protocol),
        signal,
        clock: deps.clock,
      })
      if (!accepted.ok) {
        // The signal of the client has aborted by now: its connection is closed.
        if (!tunnel.signal.aborted) deps.onHandshakeFailed(connection, accepted.why)
        return
      }
      const { client } = accepted
      const program = protocolOf(client)
      protocols.chose(agentId, destination, { server: upstream.protocol, program })
      let isUsed = false
      const onRequest = () => {
        if (isUsed) return
        isUsed = true
        deps.onServed(connection)
      }
      const session = { connection, upstream, signal, onRequest }
      sessions.set(client, session)
      if (program === 'h2') serveStreams(client, session)
      else server.emit('connection', client)
      await endOf(client, signal)
      // A program that compares the certificate itself completes TLS and leaves without a request.
      if (!isUsed && !tunnel.signal.aborted) deps.onHandshakeFailed(connection, 'unused')
    } finally {
      await upstream.close()
    }
  }
}

/** Answers a program whose request was approved while it waited. */
function answerKept(response: ServerResponse, { status, headers, body }: KeptAnswer): void {
  const framed: string[] = ['Content-Length', String(body.length)]
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== 'content-length') framed.push(headers[at] ?? '', headers[at + 1] ?? '')
  }
  response.writeHead(status, framed).end(body)
}

/** Waits until the client's connection has closed; destroys it when the signal aborts. */
async function endOf(client: TLSSocket, signal: AbortSignal): Promise<void> {
  const cut = () => client.destroy()
  signal.addEventListener('abort', cut, { once: true })
  if (signal.aborted) cut()
  if (!client.closed) await new Promise<void>((resolve) => client.once('close', () => resolve()))
  signal.removeEventListener('abort', cut)
}
