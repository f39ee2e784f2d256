import type { WebClient } from '@slack/web-api'
import type * as z from 'zod'
import type { Secret } from '../../../credentials/index.ts'
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
  /** Asks Slack once, with no retry of its own: whoever asks knows when to. Rejects with a `ChannelFailure`. */
  readonly ask: <T extends z.ZodType>(
    call: (client: WebClient) => Promise<unknown>,
    answer: T,
    signal: AbortSignal,
  ) => Promise<z.output<T>>
}

/** One call may take so long, milliseconds. */
const callMaxMs = 60_000

/** The Web API by Slack's own client, which is loaded with the first call. */
export function createSlackCalls({ botToken, apiUrl, fetch }: SlackCallsOptions): SlackCalls {
  return {
    ask: async (call, answer, signal) => {
      signal.throwIfAborted()
      // Bundled, a late import of a module of the older form has nothing but its default.
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
      if (!read.success) throw new ChannelFailure('unsure', 'Slack answered in a form that is not known')
      return read.data
    },
  }
}

/** Settings under which Slack's client waits for nothing, retries nothing and writes nothing to the log. */
export function quietClient(fetch: Fetch, signal: AbortSignal) {
  return {
    fetch: boundFetch(fetch, signal),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: silentLogger,
  }
}

/** As the client calls it: ends with the signal, and a 429 always says how long. */
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

/** Slack's packages would write to the console, answers and all. */
export const silentLogger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => 'error' as never,
  setName: () => {},
}
