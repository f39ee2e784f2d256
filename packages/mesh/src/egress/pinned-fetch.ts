import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Transform } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import { Client } from 'undici'

/**
 * One request to an address that was judged before.
 *
 * 1. The name is resolved once; every address it has must be allowed, and the connection goes to those alone. A
 *    second look-up, which another answer could slip into, does not happen.
 * 2. Host and TLS name stay the name's own.
 * 3. What cannot be resolved is refused.
 */
export type PinnedFetch = (request: PinnedRequest, signal: AbortSignal) => Promise<PinnedReply>

export interface PinnedRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty for none. */
  readonly body: string
}

export interface PinnedReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Decoded; ends early with an error where the far end breaks off. Read no further than wanted, then `close`. */
  readonly body: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

export interface PinnedFetchDeps {
  /** All addresses of a name; `dns.lookup` with `all` in earnest. */
  readonly resolve: (name: string) => Promise<readonly LookupAddress[]>
  readonly isAllowed: (address: string) => boolean
  /** 80 and 443 unless the owner says more. */
  readonly allowedPorts?: readonly number[]
}

const webPorts: readonly number[] = [80, 443]
const connectTimeoutMs = 10_000

export function createPinnedFetch(deps: PinnedFetchDeps): PinnedFetch {
  return async (request, signal) => {
    const { url } = request
    checkUrl(url, deps.allowedPorts ?? webPorts)
    const addresses = await judgedAddresses(deps, hostOf(url), signal)
    const client = new Client(url.origin, {
      connect: { lookup: pinnedLookup(addresses), timeout: connectTimeoutMs },
      pipelining: 0,
      maxHeaderSize: 64 * 1024,
    })
    try {
      const reply = await client.request({
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { 'accept-encoding': 'gzip, deflate, br', ...request.headers },
        body: request.body === '' ? null : request.body,
        signal,
      })
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
      if (signal.aborted) throw signal.reason
      if (error instanceof Problem) throw error
      throw new Problem('upstream-failed', {
        detail: `${url.host} cannot be reached${codeOf(error)}`,
        cause: error,
      })
    }
  }
}

/** Throws the Problem `address-refused` for what no request may go to, whatever it resolves to. */
function checkUrl(url: URL, allowedPorts: readonly number[]): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused('only http and https are spoken here')
  if (url.username !== '' || url.password !== '') throw refused('a user name in an address is refused')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (!allowedPorts.includes(port))
    throw refused(`port ${port} is refused; allowed are ${allowedPorts.join(', ')}`)
}

/** Without the brackets of IPv6 and the dot at the end of a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

async function judgedAddresses(
  deps: PinnedFetchDeps,
  host: string,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const family = isIP(host)
  const addresses = family === 0 ? await resolved(deps, host, signal) : [{ address: host, family }]
  const bad = addresses.find(({ address }) => !deps.isAllowed(address))
  if (addresses.length === 0) throw refused(`the name ${host} has no address`)
  // The address itself is not told: a name in here would then answer questions about networks in there.
  if (bad) throw refused(`${host} is not a public address`)
  return addresses
}

/** A look-up cannot be called off, but it need not be waited for. */
async function resolved(
  deps: PinnedFetchDeps,
  host: string,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  signal.throwIfAborted()
  const gone = Promise.withResolvers<never>()
  const giveUp = () => gone.reject(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([deps.resolve(host), gone.promise])
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw new Problem('address-refused', { detail: `the name ${host} cannot be resolved`, cause: error })
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family ?? 0)
  }
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

/** An empty body, as of HEAD, is no broken one; a body that is cut off is noticed by its connection. */
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
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
}

function refused(detail: string): Problem {
  return new Problem('address-refused', { detail })
}
