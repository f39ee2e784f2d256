import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { PassThrough } from 'node:stream'
import type { Duplex } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import { returnedHeaders } from '../../egress/index.ts'
import type { Upstream } from './connect-upstream.ts'

/** Methods that a client may send again without effect, if the server closed the connection before it answered. */
const repeatable: readonly (string | undefined)[] = ['GET', 'HEAD']

/** Changes an answer on its way to the client; each function returns its argument if nothing is to be changed. */
export interface AnswerFilter {
  /** Names and values in turn. */
  headers(raw: readonly string[]): readonly string[]
  /** A stream that the body passes through; null if the body passes unchanged. */
  body(raw: readonly string[]): Duplex | null
}

/**
 * Forwards one request of an inspected connection and streams its answer back. Rejects with the problem
 * `upstream-failed`, or the signal's reason; the answer may have started by then. Returns the status of the answer.
 */
export async function forwardInspected(
  upstream: Upstream,
  exchange: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    /** The host, for messages. */
    readonly host: string
    /** The headers as they leave, names and values in turn. */
    readonly headers: readonly string[]
    readonly hasBody: boolean
    readonly answer: AnswerFilter
    readonly signal: AbortSignal
  },
): Promise<number> {
  const { request, response, host, hasBody, signal } = exchange
  const send = () =>
    upstream.client.request({
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: [...exchange.headers],
      body: hasBody ? bodyOf(request) : null,
      responseHeaders: 'raw',
      signal,
    })
  try {
    const reply = await send().catch((error: unknown) => {
      const isClosed = error instanceof Error && 'code' in error && error.code === 'UND_ERR_SOCKET'
      if (!isClosed || hasBody || !repeatable.includes(request.method)) throw error
      return send()
    })
    reply.body.on('error', () => {})
    const raw = rawHeaders(reply.headers)
    const answered = [...exchange.answer.headers(returnedHeaders(raw))]
    // The server may answer before it has read the whole body, which is not read to its end then.
    const isCutShort = hasBody && !request.complete
    response.writeHead(reply.statusCode, isCutShort ? [...answered, 'Connection', 'close'] : answered)
    const filter = exchange.answer.body(raw)
    await (filter === null ? pipeline(reply.body, response) : pipeline(reply.body, filter, response))
    return reply.statusCode
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw new Problem('upstream-failed', { detail: `${host} did not answer with HTTP`, cause: error })
  }
}

/**
 * Returns the body as a stream that the HTTP client may destroy: after an early answer it does, and destroying the
 * request itself would close the connection before the program has read the answer.
 */
function bodyOf(request: IncomingMessage): PassThrough {
  const body = new PassThrough()
  request.pipe(body)
  body.on('error', () => request.unpipe(body))
  request.once('close', () => {
    if (!request.complete) body.destroy(new Error('the program stopped sending'))
  })
  return body
}

/** With `responseHeaders: 'raw'` the headers are names and values in turn, which the types do not say. */
export function rawHeaders(headers: unknown): readonly string[] {
  return Array.isArray(headers) ? headers.map(String) : []
}
