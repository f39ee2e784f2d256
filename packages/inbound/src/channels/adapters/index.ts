import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Settings } from '@flotilla/foundation/config'
import type { Secret } from '@flotilla/egress/credentials'
import type { Log, OutboundProxies } from '@flotilla/foundation/platform'
import type { ChannelAdapter } from '../adapter.ts'
import { slackCommand } from '../commands/command-for-all.ts'
import type { ChannelMarks } from './channel-marks.ts'

import { publicRoots } from './check-tokens.ts'
import type { PlatformRoots } from './check-tokens.ts'

export { createCheckTokens } from './check-tokens.ts'
export type { ChannelValues, CheckTokens } from './check-tokens.ts'

export type { ChannelMarks } from './channel-marks.ts'

export interface AdapterGiven {
  /** Returns the system credential with that name, which must be one of `needs`. */
  readonly secret: (name: string) => Secret
  /** Returns an optional system credential; null if the owner did not set it. */
  readonly secretOrNull: (name: string) => Secret | null
  readonly settings: Settings['channels']
  readonly clock: Clock
  readonly proxies: OutboundProxies
  readonly log: Log
  /** The mesh's commands, for the platform's own command menu. */
  readonly menu: readonly { readonly command: string; readonly description: string }[]
  /** Stores the read position of each conversation, for platforms that do not track it. */
  readonly marks: ChannelMarks
}

export interface ChannelFactory {
  /** The names of the required system credentials, without prefix. The channel is on if all exist. */
  readonly needs: readonly string[]
  /**
   * Creates the adapter without connecting. The adapter and the platform's library are loaded by this call, so that
   * fleets without the channel do not load them. Rejects with the Problem `not-configured` if a setting is missing.
   */
  readonly create: (given: AdapterGiven) => Promise<ChannelAdapter>
}

/** Returns the API address of each platform; the owner can configure another address. Pure. */
export function platformRootsOf(settings: Settings['channels']): PlatformRoots {
  const rootOf = (name: keyof PlatformRoots) =>
    settings[name]?.api_url.replace(/\/+$/, '') ?? publicRoots[name]
  return {
    telegram: rootOf('telegram'),
    discord: rootOf('discord'),
    slack: rootOf('slack'),
    whatsapp: rootOf('whatsapp'),
  }
}

/** The factories of all platforms. A new platform needs a folder and an entry in this table. */
export const channelFactories: Readonly<Record<ChannelName, ChannelFactory>> = {
  telegram: {
    needs: ['telegram_bot_token'],
    create: async ({ secret, clock, proxies, marks, menu, settings }) => {
      const { createTelegramAdapter } = await import('./telegram/index.ts')
      return createTelegramAdapter({
        token: secret('telegram_bot_token'),
        clock,
        proxies,
        marks,
        menu,
        apiRoot: platformRootsOf(settings).telegram,
      })
    },
  },
  discord: {
    needs: ['discord_bot_token'],
    create: async ({ secret, clock, proxies, marks, menu, settings }) => {
      const { createDiscordAdapter } = await import('./discord/index.ts')
      return createDiscordAdapter({
        token: secret('discord_bot_token'),
        api: platformRootsOf(settings).discord,
        clock,
        proxies,
        marks,
        commands: menu.map(({ command, description }) => ({
          name: command,
          description,
          argument: 'the arguments of the command; /help lists them',
        })),
      })
    },
  },
  slack: {
    needs: ['slack_bot_token', 'slack_app_token'],
    create: async ({ secret, clock, proxies, marks, settings }) => {
      const { createSlackAdapter } = await import('./slack/index.ts')
      return createSlackAdapter({
        marks,
        command: slackCommand,
        apiUrl: `${platformRootsOf(settings).slack}/`,
        botToken: secret('slack_bot_token'),
        appToken: secret('slack_app_token'),
        clock,
        proxies,
      })
    },
  },
  whatsapp: {
    // Optional credentials: without the app secret, webhook calls get a 503; without a verify token, Meta cannot
    // register the webhook.
    needs: ['whatsapp_access_token', 'whatsapp_phone_number_id'],
    create: async ({ secret, secretOrNull, clock, proxies, menu, settings }) => {
      const { createWhatsAppAdapter } = await import('./whatsapp/index.ts')
      return createWhatsAppAdapter({
        menu,
        graphRoot: platformRootsOf(settings).whatsapp,
        accessToken: secret('whatsapp_access_token'),
        appSecret: secretOrNull('whatsapp_app_secret'),
        verifyToken: secretOrNull('whatsapp_verify_token'),
        phoneNumberId: secret('whatsapp_phone_number_id').reveal(),
        clock,
        proxies,
      })
    },
  },
  webhook: {
    needs: ['channel_webhook_secret'],
    create: async ({ secret, settings, clock, proxies }) => {
      const { createWebhookChannel } = await import('./webhook/index.ts')
      return createWebhookChannel({
        secret: secret('channel_webhook_secret'),
        url: settings.webhook?.url ?? null,
        clock,
        proxies,
      })
    },
  },
}
