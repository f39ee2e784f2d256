import type { Readable } from 'node:stream'
import { PassThrough } from 'node:stream'

/** A request as it leaves for the server of an inspected host. */
export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn, `Host` first, without framing and without headers about the connection. */
  readonly headers: readonly string[]
  readonly body: Readable | Buffer | null
  readonly signal: AbortSignal
}

/** The answer of a server. Its body must be read or destroyed. */
export interface UpstreamAnswer {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: Readable
  /** Names and values in turn, complete once the body has ended. */
  trailers(): readonly string[]
}

/** Sends one request and resolves as soon as the headers of the answer have arrived. */
export type SendUpstream = (request: UpstreamRequest) => Promise<UpstreamAnswer>

/** Whether the connection ended before the server answered, so that a request without effect may be sent again. */
export function isConnectionClosed(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return (
    code === 'UND_ERR_SOCKET' ||
    code === 'ERR_HTTP2_GOAWAY_SESSION' ||
    code === 'ERR_HTTP2_INVALID_SESSION' ||
    code === 'ERR_HTTP2_STREAM_CANCEL' ||
    code === 'ERR_HTTP2_SESSION_ERROR'
  )
}

/**
 * Returns the body of a program's request as a stream that the HTTP client may destroy: after an early answer it does,
 * and destroying the request itself would close the connection before the program has read the answer.
 */
export function bodyOf(request: Readable, isComplete: () => boolean): PassThrough {
  const body = new PassThrough()
  request.pipe(body)
  body.on('error', () => request.unpipe(body))
  request.once('close', () => {
    if (!isComplete()) body.destroy(new Error('the program stopped sending'))
  })
  return body
}

/** Returns headers that are names and values in turn, whatever their types say. */
export function rawHeaders(headers: unknown): readonly string[] {
  return Array.isArray(headers) ? headers.map(String) : []
}
