import { createHmac } from 'node:crypto'
import type { ChannelName } from '@flotilla/protocol/people'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { standardSecretFault } from '../../triggers/webhook/index.ts'
import { ChannelFailure } from '../adapter.ts'
import { createPlatformHttp } from './platform-http.ts'
import type { PlatformCall } from './platform-http.ts'

/** Tokens as typed by a person or as stored. */
export type ChannelValues = Readonly<Record<string, string | Secret>>
type Plain = Readonly<Record<string, string>>

/**
 * Verifies the tokens of a channel with its platform. Resolves with the name of the account, empty if the platform
 * has none. Sends nothing that users can see. Throws the Problems `unprocessable` for a rejected token,
 * `upstream-failed` if the platform does not answer.
 */
export type CheckTokens = (
  channel: ChannelName,
  values: ChannelValues,
  signal: AbortSignal,
) => Promise<string>

export interface PlatformRoots {
  readonly telegram: string
  readonly discord: string
  readonly slack: string
  readonly whatsapp: string
}

export const publicRoots: PlatformRoots = {
  telegram: 'https://api.telegram.org',
  discord: 'https://discord.com/api',
  slack: 'https://slack.com/api',
  whatsapp: 'https://graph.facebook.com/v23.0',
}

/** The time limit for all calls of one check, in milliseconds. */
const checkMaxMs = 30_000
/** The maximum size of an answer of a chat platform to a check of tokens, in bytes. */
const answerMaxBytes = 64 * 1024
/** The maximum length of the name of the bot's account that is shown, in characters. */
const nameMaxChars = 100

const telegramSchema = z.looseObject({ result: z.looseObject({ username: z.string() }) })
const discordSchema = z.looseObject({ username: z.string() })
const slackSchema = z.looseObject({
  ok: z.boolean(),
  error: z.string().nullish(),
  team: z.string().nullish(),
})
const whatsAppSchema = z.looseObject({ display_phone_number: z.string() })

type Ask = (call: Pick<PlatformCall, 'headers' | 'method'> & { readonly url: string }) => Promise<Asked>
interface Asked {
  readonly status: number
  readonly body: unknown
}

type Check = (ask: Ask, values: Plain, root: string) => Promise<string>

const checks: Readonly<Record<keyof PlatformRoots, Check>> = {
  telegram: async (ask, values, root) => {
    const token = values['telegram_bot_token'] ?? ''
    const reply = await ask({ method: 'GET', url: `${root}/bot${token}/getMe`, headers: {} })
    // Telegram answers 404 for a malformed token.
    if ([401, 403, 404].includes(reply.status)) throw unknownToken('Telegram', 'the token of the bot')
    return `@${readAs(telegramSchema, 'Telegram', reply).result.username}`
  },
  discord: async (ask, values, root) => {
    const headers = { authorization: `Bot ${values['discord_bot_token']}` }
    const reply = await ask({ method: 'GET', url: `${root}/v10/users/@me`, headers })
    if (reply.status === 401 || reply.status === 403) throw unknownToken('Discord', 'the token of the bot')
    return readAs(discordSchema, 'Discord', reply).username
  },
  slack: async (ask, values, root) => {
    const call = async (method: string, token: string | undefined, what: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const reply = await ask({ method: 'POST', url: `${root}/${method}`, headers })
      const answer = readAs(slackSchema, 'Slack', reply)
      if (!answer.ok) throw unknownToken('Slack', what, answer.error ?? '')
      return answer
    }
    const { team } = await call('auth.test', values['slack_bot_token'], 'the bot token')
    // Requests a WebSocket URL that is not used, because Slack has no other way to verify an app-level token.
    await call('apps.connections.open', values['slack_app_token'], 'the app-level token')
    return team ?? ''
  },
  whatsapp: async (ask, values, root) => {
    const token = values['whatsapp_access_token'] ?? ''
    const proof = createHmac('sha256', values['whatsapp_app_secret'] ?? '')
      .update(token)
      .digest('hex')
    const url = `${root}/${values['whatsapp_phone_number_id']}?fields=display_phone_number&appsecret_proof=${proof}`
    const reply = await ask({ method: 'GET', url, headers: { authorization: `Bearer ${token}` } })
    if ([400, 401, 403, 404].includes(reply.status)) {
      throw unknownToken(
        'WhatsApp',
        'the access token, the phone number id or the app secret',
        errorMessageIn(reply.body),
      )
    }
    return readAs(whatsAppSchema, 'WhatsApp', reply).display_phone_number
  },
}

/** Checks tokens by each platform's cheapest call. For the webhook channel, the form of its secret is checked. */
export function createCheckTokens(roots: () => PlatformRoots, proxies: OutboundProxies): CheckTokens {
  return async (channel, given, signal) => {
    const values = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : value.reveal(),
      ]),
    )
    if (channel === 'webhook') return checkWebhook(values)
    const http = createPlatformHttp(proxies)
    const until = AbortSignal.any([signal, AbortSignal.timeout(checkMaxMs)])
    const ask: Ask = async (call) => {
      const whole = { ...call, url: new URL(call.url), body: null, maxBytes: answerMaxBytes }
      const { status, body } = await http.call(whole, until)
      return { status, body: readJsonQuietly(body, jsonLimits.serverReply) }
    }
    try {
      const account = await checks[channel](ask, values, roots()[channel])
      return account.replace(/[^\p{L}\p{N}\p{P}\p{Zs}+]/gu, '').slice(0, nameMaxChars)
    } catch (error) {
      if (error instanceof Problem || signal.aborted) throw error
      const why =
        error instanceof ChannelFailure ? error.message : `no answer within ${checkMaxMs / 1000} seconds`
      if (!(error instanceof ChannelFailure) && !until.aborted) throw error
      throw new Problem('upstream-failed', {
        detail: `${channel} failed to verify the token with the platform: ${why}`,
        repair: 'Nothing was stored. Check the network connection of this machine, then try again.',
      })
    } finally {
      await http.close()
    }
  }
}

function checkWebhook(values: Plain): string {
  const fault = standardSecretFault(values['channel_webhook_secret'] ?? '')
  if (fault === null) return ''
  throw new Problem('unprocessable', { detail: `channel_webhook_secret: ${fault}` })
}

function readAs<T extends z.ZodType>(schema: T, platform: string, { status, body }: Asked): z.output<T> {
  const read = schema.safeParse(body)
  if (status >= 200 && status < 300 && read.success) return read.data
  throw new Problem('upstream-failed', {
    detail: `${platform} answered ${status} in an unknown form`,
    repair: 'Nothing was stored. Try again later.',
  })
}

function unknownToken(platform: string, what: string, message = ''): Problem {
  const plainMessage = message.replace(/[^\w .:,'()/-]/g, '').slice(0, 200)
  return new Problem('unprocessable', {
    detail: `${platform} does not accept ${what}${plainMessage === '' ? '' : ` (${plainMessage})`}`,
    repair: 'Nothing was stored. Copy the token from the platform again, or create a new token there.',
  })
}

const errorSchema = z.looseObject({ error: z.looseObject({ message: z.string() }) })

/** Returns Meta's error message, which never contains the token. Pure. */
function errorMessageIn(body: unknown): string {
  const read = errorSchema.safeParse(body)
  return read.success ? read.data.error.message : ''
}
