import { jsonLimits } from '@flotilla/protocol/limits'
import { measureJson } from '../../intake/index.ts'
import { ChannelFailure } from '../adapter.ts'
import { readBounded } from './bounded-download.ts'
import type { Fetch } from './bounded-download.ts'
import { waitMaxMs } from './call-failure.ts'

/** The longest answer of a platform's API that is read, bytes: a page of long messages. */
const answerMaxBytes = 16 * 1024 * 1024
/** By the Web's own rule a response of these has no body. */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])
/** Seconds, which the libraries believe whatever they say. */
const waits = ['retry-after', 'x-ratelimit-reset-after'] as const

/**
 * As `fetch`, for the libraries of platforms, which read and parse whatever comes, wait as long as they are told to and go
 * wherever they are led; rejects with a `ChannelFailure`. A refusal stays the refusal that it is, however it is worded.
 */
export function withBoundedAnswers(fetch: Fetch, platform: string): Fetch {
  return async (url, init) => {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const { status, statusText, ok } = response
    if (isElsewhere(response)) {
      await response.body?.cancel()
      // Nothing was done there, and nothing of ours goes where it points.
      throw new ChannelFailure('unreachable', `${platform} is not there: it leads elsewhere (${status})`)
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

/** Null for more than is read. */
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

/** What was asked for may have been done. */
function tooMuch(platform: string): ChannelFailure {
  return new ChannelFailure('unsure', `${platform} answered with more than is read`)
}
