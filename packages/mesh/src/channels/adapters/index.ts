import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Settings } from '../../config/index.ts'
import type { Secret } from '../../credentials/index.ts'
import type { Log } from '../../platform/index.ts'
import type { ChannelAdapter } from '../adapter.ts'
import { slackCommand } from '../commands/command-for-all.ts'
import { createDiscordAdapter } from './discord/index.ts'
import type { ChannelMarks } from './channel-marks.ts'
import { createSlackAdapter } from './slack/index.ts'
import { createWebhookChannel } from './webhook/index.ts'
import { createWhatsAppAdapter } from './whatsapp/index.ts'

import { publicRoots } from './check-tokens.ts'
import type { PlatformRoots } from './check-tokens.ts'

export { createCheckTokens } from './check-tokens.ts'
export type { ChannelValues, CheckTokens } from './check-tokens.ts'

export type { ChannelMarks } from './channel-marks.ts'

export interface AdapterGiven {
  /** The system credential of that name, one of `needs`. */
  readonly secret: (name: string) => Secret
  /** One that the channel can be switched on without. */
  readonly secretOrNull: (name: string) => Secret | null
  readonly settings: Settings['channels']
  readonly clock: Clock
  readonly log: Log
  /** Our commands, for a platform's own menu of them. */
  readonly menu: readonly { readonly command: string; readonly description: string }[]
  /** How far each conversation was heard, for platforms that do not keep that themselves. */
  readonly marks: ChannelMarks
}

export interface ChannelFactory {
  /** System credentials without their prefix; the channel is on where all of them are there. */
  readonly needs: readonly string[]
  /**
   * Connects to nothing yet; the platform's library is loaded here, so that a fleet without the channel does not wait for
   * it. Rejects with the Problem `not-configured` where a setting is missing.
   */
  readonly create: (given: AdapterGiven) => ChannelAdapter | Promise<ChannelAdapter>
}

/** Where each platform is asked: at its own address, unless the owner named another. Pure. */
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

/** Which platforms there are. One more is a folder here and a line below. */
export const channelFactories: Readonly<Record<ChannelName, ChannelFactory>> = {
  telegram: {
    needs: ['telegram_bot_token'],
    create: async ({ secret, clock, menu, settings }) => {
      const { createTelegramAdapter } = await import('./telegram/index.ts')
      return createTelegramAdapter({
        token: secret('telegram_bot_token'),
        clock,
        menu,
        apiRoot: platformRootsOf(settings).telegram,
      })
    },
  },
  discord: {
    needs: ['discord_bot_token'],
    create: ({ secret, clock, marks, menu, settings }) =>
      createDiscordAdapter({
        token: secret('discord_bot_token'),
        api: platformRootsOf(settings).discord,
        clock,
        marks,
        commands: menu.map(({ command, description }) => ({
          name: command,
          description,
          argument: 'what is written behind it; /help says what each takes',
        })),
      }),
  },
  slack: {
    needs: ['slack_bot_token', 'slack_app_token'],
    create: ({ secret, clock, marks, settings }) =>
      createSlackAdapter({
        marks,
        command: slackCommand,
        apiUrl: `${platformRootsOf(settings).slack}/`,
        botToken: secret('slack_bot_token'),
        appToken: secret('slack_app_token'),
        clock,
      }),
  },
  whatsapp: {
    // Without the app's secret its call-backs are answered with 503, and without a verify token Meta sets none up.
    needs: ['whatsapp_access_token', 'whatsapp_phone_number_id'],
    create: ({ secret, secretOrNull, clock, menu, settings }) =>
      createWhatsAppAdapter({
        menu,
        graphRoot: platformRootsOf(settings).whatsapp,
        accessToken: secret('whatsapp_access_token'),
        appSecret: secretOrNull('whatsapp_app_secret'),
        verifyToken: secretOrNull('whatsapp_verify_token'),
        phoneNumberId: secret('whatsapp_phone_number_id').reveal(),
        clock,
      }),
  },
  webhook: {
    needs: ['channel_webhook_secret'],
    create: ({ secret, settings, clock }) =>
      createWebhookChannel({
        secret: secret('channel_webhook_secret'),
        url: settings.webhook?.url ?? null,
        clock,
      }),
  },
}
