import { jsonLimits } from '@flotilla/protocol/limits'
import { lookAtJson } from '../../intake/index.ts'
import { ChannelFailure } from '../adapter.ts'
import { readBounded } from './bounded-download.ts'
import type { Fetch } from './bounded-download.ts'

/** The longest answer of a platform's API that is read, bytes: a page of long messages. */
const answerMaxBytes = 16 * 1024 * 1024
/** By the Web's own rule a response of these has no body. */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])

/** As `fetch`, for the libraries of platforms, which read and parse whatever comes; rejects with a `ChannelFailure`. */
export function withBoundedAnswers(fetch: Fetch, platform: string): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { status, statusText, headers } = response
    const bytes = await readBounded(response, answerMaxBytes).catch((error: unknown) => {
      if (error instanceof ChannelFailure) throw tooMuch(platform)
      throw error
    })
    if (lookAtJson(bytes, jsonLimits.gatewayPacket).fault !== null) throw tooMuch(platform)
    return new Response(bodiless.has(status) ? null : new Uint8Array(bytes), { status, statusText, headers })
  }
}

/** What was asked for may have been done. */
function tooMuch(platform: string): ChannelFailure {
  return new ChannelFailure('unsure', `${platform} answered with more than is read`)
}
