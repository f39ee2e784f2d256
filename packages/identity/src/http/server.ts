import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { requirePlainBody } from '@flotilla/protocol/plain-body'
import { problemContentType, problemJson } from '@flotilla/protocol/problem-json'
import { webhookPublicEndpoints } from '@flotilla/protocol/webhook-api'
import type { Log } from '@flotilla/foundation/platform'
import { answersWith } from './answer-headers.ts'
import type { AnswerHeaders } from './answer-headers.ts'
import { requestsInChunks, tinyChunks } from './bound-chunks.ts'
import { boundConnections, connectionBounds } from './bound-connections.ts'
import type { ConnectionBounds } from './bound-connections.ts'
import { drainRefused } from './drain-refused.ts'
import { serveSockets, wantsSocket } from './event-socket.ts'
import { endLinesWithServer } from './open-lines.ts'
import { oneRequestAtATime } from './one-request-at-a-time.ts'
import { wantsPage } from './no-such-page.ts'
import { asProblem, installProblemReplies, noSuchPath, sendProblem } from './problem-reply.ts'
import { readBody } from './take-bodies.ts'

/** How long a client may take to send its request before it is disconnected, in milliseconds. */
const requestTimeoutMs = 120_000

/**
 * The maximum size of one request's headers, names and values together, in bytes; a larger request is refused while
 * it arrives.
 */
const headersMaxBytes = 16 * 1024
/**
 * The maximum number of headers of one request. Node drops further ones, which could bypass a check, so the request
 * is rejected.
 */
const headersMax = 200

/** Creates an HTTP server: bounded bodies, problem responses, `headers` on every response, no framework banner. */
export function createServer(
  log: Log,
  connections: ConnectionBounds = connectionBounds,
  headers: AnswerHeaders = {},
): FastifyInstance {
  const Answer = answersWith(headers)
  const server = fastify({
    logger: false,
    bodyLimit: wireLimits.bodyMaxBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 75_000,
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
    http: {
      maxHeaderSize: headersMaxBytes,
      ServerResponse: Answer,
      IncomingMessage: requestsInChunks((socket) => refuseTinyChunks(socket, headers)),
      shouldUpgradeCallback: wantsSocket,
    },
    // Errors before routing do not reach the error handler.
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, asProblem(error)),
    clientErrorHandler: (error, socket) => refuseBrokenHttp(error, socket, headers),
    // The router's own option doubles its routes, which costs a tenth of the mesh's start time.
    exposeHeadRoutes: false,
    rewriteUrl: headAsGet,
    // Keys of the blackboard and names of files are longer than the router's default of 100.
    routerOptions: { maxParamLength: 2048, ignoreTrailingSlash: false },
  })
  server.server.maxHeadersCount = headersMax + 1
  server.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    if (raw.rawHeaders.length > 2 * headersMax) {
      throw new Problem('body-too-large', { detail: `a request may have at most ${headersMax} headers` })
    }
    // An unknown path is refused before the body is read, because no handler needs the body.
    if (request.is404 && !wantsPage(request)) throw noSuchPath()
    // Reads the header first: the framework creates the options of the route at each access.
    const isPacked = raw.headers['content-encoding'] !== undefined
    if (isPacked && !keepsRefusals(request.routeOptions.url)) requirePlainBody(raw.headers)
    done()
  })
  server.addHook('onSend', async (request, reply) => {
    void reply.header('x-content-type-options', 'nosniff')
    void reply.header('cache-control', reply.getHeader('cache-control') ?? 'no-store')
    await drainRefused(request.raw, reply, connections.refusedMaxBytes)
    // A client with an unknown path or without valid credentials must open a new connection for another try.
    if (request.is404 || reply.statusCode === 401) void reply.header('connection', 'close')
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, readBody(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  installProblemReplies(server, log)
  endLinesWithServer(server)
  boundConnections(server.server, connections)
  oneRequestAtATime(server.server)
  serveSockets(server, (request) => new Answer(request))
  return server
}

/** Handles a HEAD request like GET: Node has already recorded that the response has no body. */
function headAsGet(request: IncomingMessage): string {
  if (request.method === 'HEAD') request.method = 'GET'
  return request.url ?? '/'
}

/** Whether the path is a webhook's, whose route makes these checks itself to record rejected deliveries. */
function keepsRefusals(path: string | undefined): boolean {
  const [start = ''] = webhookPublicEndpoints.webhookReceive.path.split('{')
  return path?.startsWith(start) === true
}

/** Invalid HTTP gets a problem too, written by hand because there is no request to reply to. */
function refuseBrokenHttp(
  error: Error & { readonly code?: string },
  socket: Socket,
  headers: AnswerHeaders,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const detail = tooLarge ? 'the headers are too large' : 'this is not a request of HTTP/1.1'
  writeProblem(socket, new Problem(tooLarge ? 'body-too-large' : 'bad-request', { detail }), headers)
}

/** The body is not read any more, and the connection ends with the answer. */
function refuseTinyChunks(socket: Socket, headers: AnswerHeaders): void {
  socket.pause()
  writeProblem(socket, new Problem('bad-request', { detail: tinyChunks }), headers)
  socket.destroySoon()
}

/** Writes a problem by hand, because there is no request to reply to. */
function writeProblem(socket: Socket, problem: Problem, headers: AnswerHeaders): void {
  const body = problemJson(problem, randomUUID())
  const text = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${body.status} ${body.title}`,
      `content-type: ${problemContentType}`,
      `content-length: ${Buffer.byteLength(text)}`,
      ...Object.entries({ 'cache-control': 'no-store', ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      ),
      'connection: close',
      '',
      text,
    ].join('\r\n'),
  )
}
