import { jsonLimits } from '@flotilla/protocol/limits'
import { measureJson } from '@flotilla/foundation/intake'
import { ChannelFailure } from '../adapter.ts'
import { readBounded } from './bounded-download.ts'
import type { Fetch } from './bounded-download.ts'
import { waitMaxMs } from './call-failure.ts'

/** The maximum size of an API response, in bytes. It fits one page of long messages. */
const answerMaxBytes = 16 * 1024 * 1024
/** The Fetch standard allows no body for these status codes. */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])
/** Headers in which a platform names a wait in seconds. The platforms' libraries would wait without a limit. */
const waits = ['retry-after', 'x-ratelimit-reset-after'] as const

/**
 * Wraps `fetch` for the platforms' libraries, which read bodies of any size, wait for any time and follow redirects.
 * The wrapper rejects with a `ChannelFailure`. An error response keeps its status, even if its body is not readable.
 */
export function withBoundedAnswers(fetch: Fetch, platform: string): Fetch {
  return async (url, init) => {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const { status, statusText, ok } = response
    if (isElsewhere(response)) {
      await response.body?.cancel()
      // Redirects are not followed: the request had no effect, and the token must not go to another address.
      throw new ChannelFailure('unreachable', `${platform} redirects to another address (${status})`)
    }
    const bytes = await readAnswer(response)
    if (bytes === null && ok) throw tooMuch(platform)
    const headers = withBoundedWaits(response.headers)
    if (bytes === null) headers.set('content-type', 'application/json')
    const body = bodiless.has(status) ? null : new Uint8Array(bytes ?? nothing)
    return new Response(body, { status, statusText, headers })
  }
}

const nothing = Buffer.from('{}')

function isElsewhere({ status }: Response): boolean {
  return status >= 300 && status < 400
}

/** Returns the whole response body; null if it is too large or exceeds the limits for JSON. */
async function readAnswer(response: Response): Promise<Uint8Array | null> {
  try {
    const bytes = await readBounded(response, answerMaxBytes)
    return measureJson(bytes, jsonLimits.gatewayPacket).fault === null ? bytes : null
  } catch (error) {
    if (error instanceof ChannelFailure) return null
    throw error
  }
}

function withBoundedWaits(given: Headers): Headers {
  const headers = new Headers(given)
  for (const name of waits) {
    const seconds = Number(headers.get(name) ?? Number.NaN)
    if (!(seconds >= 0)) headers.delete(name)
    else if (seconds * 1000 > waitMaxMs) headers.set(name, String(waitMaxMs / 1000))
  }
  return headers
}

/** The request may have succeeded. */
function tooMuch(platform: string): ChannelFailure {
  return new ChannelFailure('unsure', `${platform} sent a response that is too large`)
}
