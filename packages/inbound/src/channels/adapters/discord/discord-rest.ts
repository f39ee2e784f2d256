import type { RESTOptions, REST, RequestData } from 'discord.js'
import type * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import { withBoundedAnswers } from '../bounded-answer.ts'
import type { Fetch } from '../bounded-download.ts'
import { discordFailure } from './discord-failure.ts'
import { loadDiscord } from './load-discord.ts'

export interface DiscordRestOptions {
  readonly api: string
  readonly fetch: Fetch
}

export interface DiscordRest {
  /** Sends a request, not before the rate limit allows, and returns the response. Rejects with a `ChannelFailure`. */
  readonly ask: <T extends z.ZodType>(
    request: RestRequest,
    answer: T,
    signal: AbortSignal,
  ) => Promise<z.output<T>>
  readonly close: () => void
}

export interface RestRequest extends Pick<RequestData, 'body' | 'files'> {
  readonly method: 'get' | 'post' | 'patch' | 'put'
  readonly path: `/${string}`
  readonly query?: Readonly<Record<string, string>>
  /** False if the path already contains a token, so that the bot token is not sent. */
  readonly auth?: boolean
}

/** The time limit of one call, in milliseconds. */
const callMaxMs = 60_000

/**
 * Returns the settings of discord.js, which tracks the rate limits. A call that would have to wait
 * is rejected with the delay, because the caller schedules retries.
 */
export function restSettings({ api, fetch }: DiscordRestOptions): Partial<RESTOptions> {
  const ask = withBoundedAnswers(fetch, 'Discord')
  return {
    version: '10',
    api,
    retries: 0,
    offset: 0,
    timeout: callMaxMs,
    rejectOnRateLimit: () => true,
    // The cast is needed because the two Fetch API types come from different versions of one library.
    makeRequest: ((url: string, init: RequestInit) =>
      ask(url, init)) as unknown as RESTOptions['makeRequest'],
  }
}

/** Discord's REST API through discord.js, which is loaded with the first call. */
export function createDiscordRest(token: Secret, options: DiscordRestOptions): DiscordRest {
  let rest: Promise<REST> | null = null

  async function open(): Promise<REST> {
    const { REST } = await loadDiscord()
    return new REST(restSettings(options)).setToken(token.reveal())
  }

  return {
    ask: async ({ method, path, query, ...request }, answer, signal) => {
      signal.throwIfAborted()
      rest ??= open()
      const client = await rest
      let reply: unknown
      try {
        reply = await client[method](path, {
          ...request,
          signal,
          ...(query === undefined ? {} : { query: new URLSearchParams(query) }),
        })
      } catch (error) {
        signal.throwIfAborted()
        // discord.js forgets the token after a 401 and would then report a missing token.
        client.setToken(token.reveal())
        throw discordFailure(error)
      }
      const read = answer.safeParse(reply)
      if (!read.success) throw new ChannelFailure('unsure', 'Discord sent a response of unknown form')
      return read.data
    },
    close: () => {
      void rest?.then((client) => {
        client.clearHashSweeper()
        client.clearHandlerSweeper()
      })
    },
  }
}
