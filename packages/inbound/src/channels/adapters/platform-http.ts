import { Agent, buildConnector, request } from 'undici'
import type { FormData } from 'undici'
import { unlessAborted } from '@flotilla/protocol/unless-aborted'
import { connectorThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../adapter.ts'
import { failureOfCall } from './call-failure.ts'

/** Calls to one platform over its own connection pool. */
export interface PlatformHttp {
  /** Makes a call. Reads up to `maxBytes`. Rejects with a `ChannelFailure`: `too-large`, `unreachable`, `unsure`. */
  readonly call: (call: PlatformCall, signal: AbortSignal) => Promise<PlatformAnswer>
  /** Closes open connections. */
  readonly close: () => Promise<void>
}

export interface PlatformCall {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | FormData | null
  readonly maxBytes: number
}

export interface PlatformAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

/** The time limit for connecting to a chat platform, in milliseconds. */
const connectTimeoutMs = 10_000
/** How long the mesh waits for the response headers of a chat platform, in milliseconds. */
const headersTimeoutMs = 60_000
/** The longest silence within a response. */
const bodyIdleMs = 30_000
/**
 * The time limit of a whole call to a chat platform, of which the transfer of the largest file takes the longest
 * part, in milliseconds.
 */
const callMaxMs = 10 * 60_000
/** The maximum number of connections to one host of a chat platform. */
const connectionsMax = 16

/** Creates calls that follow no redirects, so that a token goes only to the configured address. */
export function createPlatformHttp(proxies: OutboundProxies, maxMs = callMaxMs): PlatformHttp {
  const agent = new Agent({
    connect: connectorThrough(proxies, buildConnector({ timeout: connectTimeoutMs, allowH2: false })),
    // While undici does not know whether a server speaks HTTP/2, it opens one connection at a time.
    allowH2: false,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyIdleMs,
    connections: connectionsMax,
  })
  return {
    call: async ({ method, url, headers, body, maxBytes }, signal) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
      try {
        const asked = request(url, { method, headers, body, signal: bounded, dispatcher: agent })
        // undici heeds the signal only once the connection is open.
        const answer = await unlessAborted(asked, bounded)
        const chunks: Uint8Array[] = []
        let size = 0
        // Leaving the loop closes the connection.
        for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
          size += chunk.length
          if (size > maxBytes) throw tooLarge(maxBytes)
          chunks.push(chunk)
        }
        return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }
      } catch (error) {
        signal.throwIfAborted()
        throw failureOfCall(error, url.host)
      }
    },
    close: () => agent.destroy(),
  }
}

export function tooLarge(maxBytes: number): ChannelFailure {
  return new ChannelFailure('too-large', `the file is larger than ${maxBytes} bytes`)
}
