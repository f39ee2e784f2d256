import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import type { HandshakeFailure } from '@flotilla/protocol/inspection-api'
import { Problem } from '@flotilla/protocol/problem'
import { oneRequestAtATime, requestsInChunks } from '@flotilla/identity/http'
import type { Log } from '@flotilla/foundation/platform'
import type { PolicyDecision } from '@flotilla/identity/policy'
import {
  inspectedRequestHeaders,
  refusalOf,
  refuseResponse,
  refuseSocket,
  textOf,
  webSocketRequestHeaders,
} from '../../egress/index.ts'
import type { Destination, InspectedConnection } from '../../egress/index.ts'
import type { CertificateOf } from '../authority/host-certificates.ts'
import type { AskPerson, KeptAnswer } from './asked-request.ts'
import { acceptClient } from './accept-client.ts'
import { checkInnerRequest } from './check-inner-request.ts'
import { connectUpstream } from './connect-upstream.ts'
import type { SecureServer, Upstream } from './connect-upstream.ts'
import { forwardInspected } from './forward-inspected.ts'
import type { AnswerFilter } from './forward-inspected.ts'
import { openWebSocket } from './open-web-socket.ts'

/** The maximum size of the headers of one request inside an inspected connection, in bytes. */
const headersMaxBytes = 32 * 1024
/** How long a client may take to send the headers of a request, in milliseconds. */
const headersTimeoutMs = 10_000
/** How long an idle connection of a client stays open, in milliseconds. */
const keepAliveMs = 15_000

/** What is decided and changed for one request of an agent's program to an inspected host. */
export interface RequestTurn {
  /**
   * Decides by the headers as well, and changes them, such as placeholders into values. `asked` if a person must
   * approve the request first. Throws a problem to refuse the request.
   */
  fill(headers: readonly string[]): { readonly headers: readonly string[] } | { readonly asked: AskedTurn }
  /** Like `fill`, for a request that opens a WebSocket, which a rule must allow and which cannot wait for a person. */
  fillWebSocket(headers: readonly string[]): readonly string[]
  /**
   * Like `fill`, for a request that a person has approved together with these credentials. Problem `approval-changed` if
   * others would be filled in.
   */
  fillApproved(headers: readonly string[], credentials: readonly string[]): readonly string[]
  readonly answer: AnswerFilter
  /** Called once, with the status of the answer or the code of the problem. */
  settled(result: { readonly status: number } | { readonly problem: string }): void
}

/** Why a person must approve a request, and the names of the credentials that it contains. */
export interface AskedTurn {
  readonly decision: PolicyDecision
  readonly credentials: readonly string[]
}

/**
 * Decides about one request before anything of it leaves. Throws a problem to refuse the request, which the program
 * receives as the answer.
 */
export type TakeTurn = (
  connection: {
    readonly identity: Pick<InspectedConnection['identity'], 'caller'>
    readonly destination: Destination
  },
  request: { readonly method: string; readonly path: string },
) => RequestTurn | Promise<RequestTurn>

export interface InspectedServerDeps {
  readonly certificateOf: CertificateOf
  readonly takeTurn: TakeTurn
  /** Keeps a request for a person; resolves to the answer if one approves it while the program waits. */
  readonly ask: AskPerson
  readonly secure: SecureServer
  readonly onHandshakeFailed: (connection: InspectedConnection, why: HandshakeFailure) => void
  readonly newRequestId: () => string
  readonly clock: Clock
  readonly log: Log
}

/** One inspected connection while it is open. */
interface Session {
  readonly connection: InspectedConnection
  readonly upstream: Upstream
  readonly signal: AbortSignal
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

  function refusal(error: unknown) {
    const refused = refusalOf(error, deps.newRequestId())
    if (refused.code === 'internal-error')
      deps.log.error({ err: error }, 'internal error for an inspected connection; the request is rejected')
    return refused
  }

  async function serveRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.get(request.socket)
    if (!session) return void request.socket.destroy()
    const { connection, upstream, signal } = session
    const { destination } = connection
    const method = request.method ?? 'GET'
    const path = request.url ?? '/'
    let turn: RequestTurn | null = null
    try {
      checkInnerRequest({ method, target: path, rawHeaders: request.rawHeaders }, destination)
      turn = await deps.takeTurn(connection, { method, path })
      const { headers, hasBody } = inspectedRequestHeaders(request, shownHost(destination))
      const filled = turn.fill(headers)
      if ('asked' in filled) {
        const { keepOpen } = connection.tunnel
        const { caller } = connection.identity
        const body = hasBody ? request : null
        const asked = { caller, destination, method, path, headers, body, ...filled.asked, signal, keepOpen }
        answerKept(response, await deps.ask(asked))
        return
      }
      const { answer } = turn
      const exchange = { request, response, host: destination.host, ...filled, hasBody, answer, signal }
      turn.settled({ status: await forwardInspected(upstream, exchange) })
    } catch (error) {
      const refused = refusal(error)
      turn?.settled({ problem: refused.code })
      refuseResponse(response, refused)
    }
  }

  /** Opens a WebSocket: the request is decided like any other; what follows is carried as it is. */
  async function serveUpgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const session = sessions.get(client)
    if (!session) return void client.destroy()
    const { connection, upstream, signal } = session
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

  server.on('request', (request, response) => void serveRequest(request, response))
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
    const { near, tunnel, destination } = connection
    const signal = AbortSignal.any([connection.signal, tunnel.signal])
    if (!(near instanceof Socket))
      throw new Problem('bad-request', { detail: 'the connection has no socket' })
    const context = await deps.certificateOf(destination.host)
    const dial = () => connection.dial(signal)
    const upstream = await connectUpstream({ destination, dial, secure: deps.secure, signal })
    try {
      tunnel.measure(upstream.traffic)
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const { head } = connection
      const accepted = await acceptClient(near, {
        host: destination.host,
        context,
        head,
        signal,
        clock: deps.clock,
      })
      if (!accepted.ok) {
        // The signal of the client has aborted by now: its connection is closed.
        if (!tunnel.signal.aborted) deps.onHandshakeFailed(connection, accepted.why)
        return
      }
      const { client } = accepted
      sessions.set(client, { connection, upstream, signal })
      server.emit('connection', client)
      await endOf(client, signal)
    } finally {
      await upstream.close()
    }
  }
}

/** The value of the Host header: without the port of HTTPS. */
function shownHost(destination: Destination): string {
  return destination.port === 443 ? textOf(destination).replace(/:443$/, '') : textOf(destination)
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
