import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Problem } from '@flotilla/protocol/problem'
import { boundAnswerChunks } from '@flotilla/identity/http'
import { answerInTinyChunks } from '../fetch/bound-chunks.ts'
import { textOf } from '../policy/destination.ts'
import type { CheckedTunnel } from './open-tunnel.ts'
import { onwardRequestHeaders, returnedHeaders } from './proxied-headers.ts'
import { dial } from './proxy-tunnel.ts'
import type { AbsoluteTarget } from './proxy-target.ts'

const replyHeadersMaxBytes = 64 * 1024

/**
 * Forwards one request and streams its answer back. Rejects with the problem `bad-request`, `upstream-failed` or
 * `upstream-timeout`, or the signal's reason; the answer may have started by then.
 */
export async function forwardAbsolute(
  checked: CheckedTunnel,
  exchange: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly target: AbsoluteTarget
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { request, response, target, signal } = exchange
  const method = request.method ?? 'GET'
  const headers = onwardRequestHeaders({ method, rawHeaders: request.rawHeaders }, target.url.host)
  const socket = await dial(checked, signal)
  checked.tunnel.measure(() => ({ out: socket.bytesWritten, in: socket.bytesRead }))
  const cut = () => socket.destroy()
  signal.addEventListener('abort', cut, { once: true })
  try {
    const onward = httpRequest({
      createConnection: () => socket,
      method,
      path: `${target.url.pathname}${target.url.search}`,
      headers,
      setHost: false,
      maxHeaderSize: replyHeadersMaxBytes,
    })
    const answer = answerOf(onward)
    // The server may answer and close before it has read the whole body.
    const sent = pipeline(request, onward).catch((error: unknown) => error)
    const reply = await answer
    response.writeHead(reply.statusCode ?? 502, returnedHeaders(reply.rawHeaders))
    await pipeline(reply, response)
    if (!onward.writableFinished) request.destroy()
    await sent
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw new Problem('upstream-failed', {
      detail: `${textOf(target.destination)} did not answer with HTTP`,
      cause: error,
    })
  } finally {
    signal.removeEventListener('abort', cut)
    socket.destroy()
  }
}

function answerOf(onward: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    onward.once('response', (reply) => {
      boundAnswerChunks(reply, answerInTinyChunks)
      resolve(reply)
    })
    onward.once('error', reject)
    onward.once('upgrade', (_reply, socket) => {
      socket.destroy()
      reject(new Error('the remote server changed the protocol without a request'))
    })
  })
}
