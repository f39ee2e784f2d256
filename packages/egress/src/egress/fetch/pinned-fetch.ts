import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Transform } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import { unlessAborted } from '@flotilla/protocol/unless-aborted'
import { buildConnector, Client } from 'undici'
import type { Destination } from '../policy/destination.ts'
import { destinationOf } from '../policy/destination.ts'
import { pinnedLookup } from '../policy/check-destination.ts'
import { createChooseRoute } from '../policy/choose-route.ts'
import type { Route, RouteDeps } from '../policy/choose-route.ts'
import { boundChunks } from './bound-chunks.ts'
import { connectorThrough, ProxyFailed } from '@flotilla/foundation/platform'
import type { Carried } from '../../credentials/index.ts'

/**
 * Sends one request to an address that was checked before.
 * 1. The connection uses the addresses from the filter. A second DNS lookup, which could give another answer (DNS
 * rebinding), does not happen.
 * 2. The Host header and the TLS server name are those of the original name.
 */
export type PinnedFetch = (request: PinnedRequest, signal: AbortSignal) => Promise<PinnedReply>

export interface PinnedRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** The text of the request body; empty for none. */
  readonly body: string
  /** The parts that came from credentials; null or absent for none. */
  readonly carried?: Carried | null
  /**
   * Called when the connection, including TLS, is established and before the first byte of the request is sent. If it
   * throws, the connection is closed and nothing was sent.
   */
  readonly onLeaving?: () => void
}

export interface PinnedReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The decoded body; reading fails if the server breaks the connection. Read what you need, then call `close`. */
  readonly body: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** The time limit for connecting to the server of a request, in milliseconds. */
const connectTimeoutMs = 10_000

export function createPinnedFetch(deps: RouteDeps): PinnedFetch {
  const choose = createChooseRoute(deps)
  return async (request, signal) => {
    const { url } = request
    const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
    const route = await choose(readDestination(url), protocol, signal)
    const refusals: unknown[] = []
    const mayLeave = (): void => {
      try {
        // The call has ended without it, so nothing may be recorded as sent.
        signal.throwIfAborted()
        request.onLeaving?.()
      } catch (error) {
        refusals.push(error)
        throw error
      }
    }
    const client = new Client(url.origin, {
      connect: connectorFor(route, mayLeave),
      pipelining: 0,
      maxHeaderSize: 64 * 1024,
    })
    try {
      const replying = client.compose(boundChunks).request({
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { 'accept-encoding': 'gzip, deflate, br', ...request.headers },
        body: request.body === '' ? null : request.body,
        signal,
      })
      // undici heeds the signal only once the connection is open.
      const reply = await unlessAborted(replying, signal)
      return {
        status: reply.statusCode,
        headers: flatHeaders(reply.headers),
        body: decoded(reply.body, single(reply.headers['content-encoding'])),
        close: async () => {
          reply.body.on('error', () => {}).destroy()
          await client.destroy()
        },
      }
    } catch (error) {
      await client.destroy()
      for (const refusal of refusals) throw refusal
      if (signal.aborted) throw signal.reason
      if (error instanceof Problem) throw error
      throw new Problem('upstream-failed', {
        detail: `${url.host} cannot be reached${codeOf(error)}`,
        cause: error,
      })
    }
  }
}

function connectorFor({ addresses, proxy }: Route, onLeaving: () => void): buildConnector.connector {
  const direct = buildConnector({ lookup: pinnedLookup(addresses), timeout: connectTimeoutMs })
  const connect =
    proxy === null ? direct : connectorThrough({ of: () => proxy.via }, direct, () => proxy.host)
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      try {
        onLeaving()
      } catch (refusal) {
        socket.destroy()
        callback(refusal instanceof Error ? refusal : new Error('nothing was sent', { cause: refusal }), null)
        return
      }
      callback(null, socket)
    })
}

/** Parses a URL. Throws the problem `address-refused` for a URL that is never allowed, whatever it resolves to. */
function readDestination(url: URL): Destination {
  if (url.username !== '' || url.password !== '')
    throw refused('an address may not contain a user name or password')
  const destination = destinationOf(url)
  if (destination === null) throw refused('the address must begin with http:// or https:// and name a host')
  return destination
}

function decoded(
  body: AsyncIterable<Uint8Array> & NodeJS.ReadableStream,
  encoding: string | null,
): AsyncIterable<Uint8Array> {
  const decoder = decoderFor(encoding)
  if (decoder === null) return body
  body.on('error', (error) => decoder.destroy(error))
  return body.pipe(decoder)
}

/** Lets decoders accept an empty body, as after HEAD. A truncated body is detected by the broken connection. */
const deflateEnd = { finishFlush: constants.Z_SYNC_FLUSH }

function decoderFor(encoding: string | null): Transform | null {
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return null
    case 'gzip':
    case 'x-gzip':
      return createGunzip(deflateEnd)
    case 'deflate':
      return createInflate(deflateEnd)
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
    default:
      throw new Problem('upstream-failed', { detail: 'the answer has an unknown content encoding' })
  }
}

function flatHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}

function codeOf(error: unknown): string {
  if (error instanceof ProxyFailed) return `: ${error.message}`
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}

function refused(detail: string): Problem {
  return new Problem('address-refused', { detail })
}
