import { Agent, request } from 'undici'
import type { FormData } from 'undici'
import { ChannelFailure } from '../adapter.ts'
import { failureOfCall } from './call-failure.ts'

/** Calls to one platform, over connections that end with it. */
export interface PlatformHttp {
  /** Reads the answer up to `maxBytes`. Rejects with a `ChannelFailure`: `too-large` beyond, `unreachable`, `unsure`. */
  readonly call: (call: PlatformCall, signal: AbortSignal) => Promise<PlatformAnswer>
  /** Cuts what is open. */
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

const connectTimeoutMs = 10_000
const headersTimeoutMs = 60_000
/** The longest silence within an answer. */
const bodyIdleMs = 30_000
const connectionsMax = 16

/** No redirect is followed: a token goes where the owner said, and nowhere from there. */
export function createPlatformHttp(): PlatformHttp {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyIdleMs,
    connections: connectionsMax,
  })
  return {
    call: async ({ method, url, headers, body, maxBytes }, signal) => {
      try {
        const answer = await request(url, { method, headers, body, signal, dispatcher: agent })
        const chunks: Uint8Array[] = []
        let size = 0
        // Leaving the loop ends the connection.
        for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
          size += chunk.length
          if (size > maxBytes) throw tooLarge(maxBytes)
          chunks.push(chunk)
        }
        return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw failureOfCall(error, url.host)
      }
    },
    close: () => agent.destroy(),
  }
}

export function tooLarge(maxBytes: number): ChannelFailure {
  return new ChannelFailure('too-large', `it is larger than ${maxBytes} bytes`)
}
