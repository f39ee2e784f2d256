import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Duplex } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import { returnedHeaders } from '../../egress/index.ts'
import { bodyOf, isConnectionClosed } from './upstream-request.ts'
import type { SendUpstream, UpstreamAnswer, UpstreamRequest } from './upstream-request.ts'

/** Methods that a client may send again without effect, if the server closed the connection before it answered. */
const repeatable: readonly string[] = ['GET', 'HEAD']

/** Changes an answer on its way to the client; each function returns its argument if nothing is to be changed. */
export interface AnswerFilter {
  /** Names and values in turn. */
  headers(raw: readonly string[]): readonly string[]
  /** A stream that the body passes through; null if the body passes unchanged. */
  body(raw: readonly string[]): Duplex | null
}

/** A request after it was decided. */
export interface ForwardedRequest {
  readonly method: string
  readonly path: string
  /** The host, for messages. */
  readonly host: string
  /** The headers as they leave, names and values in turn. */
  readonly headers: readonly string[]
  readonly hasBody: boolean
  readonly answer: AnswerFilter
  readonly signal: AbortSignal
}

/**
 * Forwards one HTTP/1.1 request of an inspected connection and streams its answer back. Rejects with the problem
 * `upstream-failed`, or the signal's reason; the answer may have started by then. Returns the status of the answer.
 */
export function forwardInspected(
  send: SendUpstream,
  forwarded: ForwardedRequest,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<number> {
  const { hasBody, answer } = forwarded
  return reportFailure(forwarded, async () => {
    const body = hasBody ? bodyOf(request, () => request.complete) : null
    const reply = await sendForwarded(send, forwarded, body)
    const answered = [...answer.headers(returnedHeaders(reply.headers))]
    // The server may answer before it has read the whole body, which is not read to its end then.
    const isCutShort = hasBody && !request.complete
    response.writeHead(reply.status, isCutShort ? [...answered, 'Connection', 'close'] : answered)
    const filter = answer.body(reply.headers)
    await (filter === null ? pipeline(reply.body, response) : pipeline(reply.body, filter, response))
    return reply.status
  })
}

/** Sends a request, once more if it has no effect and the server closed a connection that was open already. */
export async function sendForwarded(
  send: SendUpstream,
  { method, path, headers, signal }: ForwardedRequest,
  body: UpstreamRequest['body'],
): Promise<UpstreamAnswer> {
  const request = { method, path, headers, body, signal }
  return send(request).catch((error: unknown) => {
    if (!isConnectionClosed(error) || body !== null || !repeatable.includes(method)) throw error
    return send(request)
  })
}

/** Turns every failure into the reason of the signal or a problem. */
export async function reportFailure(
  { host, signal }: Pick<ForwardedRequest, 'host' | 'signal'>,
  forward: () => Promise<number>,
): Promise<number> {
  try {
    return await forward()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw new Problem('upstream-failed', { detail: `${host} did not answer with HTTP`, cause: error })
  }
}
