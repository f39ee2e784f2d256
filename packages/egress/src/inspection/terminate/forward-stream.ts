import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { pipeline } from 'node:stream/promises'
import { Problem } from '@flotilla/protocol/problem'
import { returnedHeaders } from '../../egress/index.ts'
import type { KeptAnswer } from './asked-request.ts'
import { reportFailure, sendForwarded } from './forward-inspected.ts'
import type { ForwardedRequest } from './forward-inspected.ts'
import { http2Limits } from './http2-limits.ts'
import { bodyOf } from './upstream-request.ts'
import type { SendUpstream } from './upstream-request.ts'

/** Answers without a body, also if the method could have one. */
const bodiless: readonly number[] = [204, 205, 304]

/**
 * Forwards the request of one HTTP/2 stream and streams its answer and its trailers back. Rejects with the problem
 * `upstream-failed`, or the signal's reason; the answer may have started by then. Returns the status of the answer.
 */
export function forwardStream(
  send: SendUpstream,
  forwarded: ForwardedRequest,
  { stream, stalledMs }: { readonly stream: ServerHttp2Stream; readonly stalledMs: number },
): Promise<number> {
  const { method, hasBody, answer } = forwarded
  return reportFailure(forwarded, async () => {
    const body = hasBody ? bodyOf(stream, () => stream.readableEnded) : null
    const reply = await sendForwarded(send, forwarded, body)
    reply.body.on('error', () => {})
    const headers = answer.headers(returnedHeaders(reply.headers))
    endIfStalled(stream, stalledMs)
    if (method === 'HEAD' || bodiless.includes(reply.status)) {
      reply.body.resume()
      stream.respond(streamHeaders(reply.status, headers), { endStream: true })
    } else {
      stream.respond(streamHeaders(reply.status, headers), { waitForTrailers: true })
      stream.once('wantTrailers', () => finish(stream, () => answer.headers(reply.trailers())))
      const filter = answer.body(reply.headers)
      await (filter === null ? pipeline(reply.body, stream) : pipeline(reply.body, filter, stream))
    }
    return reply.status
  })
}

/** Answers a program whose request was approved while it waited. */
export function answerKeptStream(stream: ServerHttp2Stream, kept: KeptAnswer): void {
  if (stream.destroyed) return
  endIfStalled(stream, http2Limits.stalledStreamMs)
  const headers = [...withoutLength(kept.headers), 'content-length', `${kept.body.length}`]
  stream.respond(streamHeaders(kept.status, headers), { waitForTrailers: true })
  stream.once('wantTrailers', () => finish(stream, () => kept.trailers))
  stream.end(kept.body)
}

/** Refuses the request of a stream; resets the stream if part of an answer was sent already. */
export function refuseStream(
  stream: ServerHttp2Stream,
  refused: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly text: string
  },
): void {
  if (stream.destroyed || stream.closed) return
  // An answer that is cut off must not look complete. `close` would wait for a window that may never open.
  if (stream.headersSent) return void stream.destroy(new Error(refused.text))
  const { connection: _, ...headers } = refused.headers
  stream.respond(streamHeaders(refused.status, Object.entries(headers).flat()), { waitForTrailers: true })
  stream.once('wantTrailers', () => finish(stream, () => []))
  stream.end(refused.text)
}

/**
 * Ends the answer with its trailers, and asks a client that still sends a body to stop. Trailers that cannot be written
 * reset the stream: nothing else would catch an error here.
 */
function finish(stream: ServerHttp2Stream, trailersOf: () => readonly string[]): void {
  if (stream.destroyed || stream.closed) return
  try {
    const raw = trailersOf()
    const trailers: Record<string, string[]> = {}
    for (let at = 0; at + 1 < raw.length; at += 2)
      (trailers[raw[at]?.toLowerCase() ?? ''] ??= []).push(raw[at + 1] ?? '')
    stream.sendTrailers(trailers)
    if (!stream.endAfterHeaders && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error('invalid trailers'))
  }
}

/** Resets a stream whose client does not read what waits for it; a server that sends nothing may take longer. */
function endIfStalled(stream: ServerHttp2Stream, ms: number): void {
  stream.setTimeout(ms)
  // A callback of `setTimeout` would be called once, also if nothing waits for the client at that time.
  stream.on('timeout', () => {
    if (stream.writableLength > 0)
      stream.destroy(new Problem('client-gone', { detail: 'the program does not read the answer' }))
  })
}

function streamHeaders(status: number, raw: readonly string[]): string[] {
  return [':status', `${status}`, ...raw.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text))]
}

function withoutLength(raw: readonly string[]): readonly string[] {
  return raw.filter((_text, at) => raw[at - (at % 2)]?.toLowerCase() !== 'content-length')
}
