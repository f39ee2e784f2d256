import type { ChannelName } from './people.ts'

/** A credential that a channel needs: one of the mesh's credentials, by its name without a prefix. */
export interface ChannelField {
  readonly name: string
  readonly label: string
  /** Where on the platform a person finds the value. */
  readonly hint: string
  /** Whether the input is hidden while a person types it. */
  readonly isSecret: boolean
  /** `wanted`: the channel requires the value; `made`: the mesh generates a missing value and shows it once. */
  readonly give: 'wanted' | 'made'
  readonly form: RegExp
  /** The expected form, as text. */
  readonly formWords: string
}

export const channelFieldMaxChars = 4000

/** One word without spaces, as every platform issues. */
const word = /^[\x21-\x7e]+$/
const wordWords = 'one word without spaces'

export const channelFields: Readonly<Record<ChannelName, readonly ChannelField[]>> = {
  telegram: [
    {
      name: 'telegram_bot_token',
      label: 'Token of the bot',
      hint: '@BotFather on Telegram gives it for /newbot.',
      isSecret: true,
      give: 'wanted',
      form: /^\d{1,20}:[\w-]{1,100}$/,
      formWords: 'digits, a colon, and letters',
    },
  ],
  discord: [
    {
      name: 'discord_bot_token',
      label: 'Token of the bot',
      hint: 'discord.com/developers/applications, under Bot; switch on Message Content Intent there.',
      isSecret: true,
      give: 'wanted',
      form: word,
      formWords: wordWords,
    },
  ],
  slack: [
    {
      name: 'slack_bot_token',
      label: 'Bot token',
      hint: 'api.slack.com/apps, under OAuth & Permissions, once the app is installed.',
      isSecret: true,
      give: 'wanted',
      form: /^xoxb-[\w-]+$/,
      formWords: 'a token that begins with xoxb-',
    },
    {
      name: 'slack_app_token',
      label: 'App-level token',
      hint: 'api.slack.com/apps, under Basic Information, with the scope connections:write.',
      isSecret: true,
      give: 'wanted',
      form: /^xapp-[\w-]+$/,
      formWords: 'a token that begins with xapp-',
    },
  ],
  whatsapp: [
    {
      name: 'whatsapp_access_token',
      label: 'Access token',
      hint: 'developers.facebook.com, your app, WhatsApp, API Setup; one of a system user does not end.',
      isSecret: true,
      give: 'wanted',
      form: word,
      formWords: wordWords,
    },
    {
      name: 'whatsapp_phone_number_id',
      label: 'Phone number id',
      hint: 'Beside the token: the id, and not the number.',
      isSecret: false,
      give: 'wanted',
      form: /^\d{5,30}$/,
      formWords: 'digits alone',
    },
    {
      name: 'whatsapp_app_secret',
      label: 'App secret',
      hint: 'developers.facebook.com, your app, App settings, Basic.',
      isSecret: true,
      give: 'wanted',
      form: /^[0-9a-f]{32}$/,
      formWords: '32 hex digits',
    },
    {
      name: 'whatsapp_verify_token',
      label: 'Verify token',
      hint: 'A word of your own, which you give to Meta beside the call-back.',
      isSecret: true,
      give: 'made',
      form: word,
      formWords: wordWords,
    },
  ],
  webhook: [
    {
      name: 'channel_webhook_secret',
      label: 'Secret of Standard Webhooks',
      hint: 'Both sides sign with it; leave it out, and one is made.',
      isSecret: true,
      give: 'made',
      form: /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/,
      formWords: 'whsec_ and at least 24 bytes in base64',
    },
  ],
}

/** What a person does on the platform before the channel is enabled, wherever the fields are typed afterwards. */
export const channelSetUp: Readonly<Record<ChannelName, string>> = {
  telegram: 'Ask @BotFather on Telegram for a bot with /newbot.',
  discord:
    'Make an application at discord.com/developers/applications, switch on Message Content Intent under Bot, and invite it with the scopes bot and applications.commands.',
  slack:
    'Make an app at api.slack.com/apps with Socket Mode, the command /flotilla, the events app_mention, channel_id_changed, message.channels, message.groups and message.im, the scopes app_mentions:read, channels:history, channels:read, groups:history, groups:read, im:history, im:read, mpim:history, mpim:read, chat:write, commands, files:read, files:write and users:read, and an app-level token with connections:write.',
  whatsapp:
    'Make an app with WhatsApp at developers.facebook.com. Once the channel is on, give Meta the call-back https://HOST/channel/whatsapp with the verify token and the field messages.',
  webhook: 'Think of where answers are to be posted: an address of yours that takes JSON.',
}
