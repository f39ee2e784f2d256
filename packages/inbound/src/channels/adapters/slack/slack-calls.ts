import type { WebClient } from '@slack/web-api'
import type * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import { waitWithoutWordMs } from '../call-failure.ts'
import { withBoundedAnswers } from '../bounded-answer.ts'
import type { Fetch } from '../bounded-download.ts'
import { slackFailure } from './slack-failure.ts'

export interface SlackCallsOptions {
  readonly botToken: Secret
  readonly apiUrl: string
  readonly fetch: Fetch
}

export interface SlackCalls {
  /** Sends one request without retries, which the caller schedules. Rejects with a `ChannelFailure`. */
  readonly ask: <T extends z.ZodType>(
    call: (client: WebClient) => Promise<unknown>,
    answer: T,
    signal: AbortSignal,
  ) => Promise<z.output<T>>
}

/** The time limit of one call, in milliseconds. */
const callMaxMs = 60_000

/** Slack's Web API through Slack's client, which is loaded with the first call. */
export function createSlackCalls({ botToken, apiUrl, fetch }: SlackCallsOptions): SlackCalls {
  return {
    ask: async (call, answer, signal) => {
      signal.throwIfAborted()
      // In the bundle, a dynamic import of a CommonJS module has only a default export.
      const { default: slack } = await import('@slack/web-api')
      const client = new slack.WebClient(botToken.reveal(), {
        ...quietClient(fetch, signal),
        slackApiUrl: apiUrl,
      })
      let reply: unknown
      try {
        reply = await call(client)
      } catch (error) {
        signal.throwIfAborted()
        throw slackFailure(error)
      }
      const read = answer.safeParse(reply)
      if (!read.success) throw new ChannelFailure('unsure', 'Slack sent a response of unknown form')
      return read.data
    },
  }
}

/** Returns settings for Slack's client: no waits, no retries, no log output. */
export function quietClient(fetch: Fetch, signal: AbortSignal) {
  return {
    fetch: boundFetch(fetch, signal),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: silentLogger,
  }
}

/** Adapts `fetch` for Slack's client: a call ends with the signal, and every 429 response names a wait. */
function boundFetch(fetch: Fetch, signal: AbortSignal): typeof globalThis.fetch {
  const ask = withBoundedAnswers(fetch, 'Slack')
  return async (url, init) => {
    const response = await ask(url instanceof Request ? url.url : String(url), {
      ...init,
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMaxMs)]),
    })
    if (response.status !== 429 || response.headers.has('retry-after')) return response
    return new Response(null, { status: 429, headers: { 'retry-after': String(waitWithoutWordMs / 1000) } })
  }
}

/** A logger without output, because Slack's packages would write whole responses to the console. */
export const silentLogger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => 'error' as never,
  setName: () => {},
}
