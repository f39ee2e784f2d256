import type { ChannelView } from '@flotilla/protocol/channels-api'

/** The names of the chat platforms as people write them. */
export const channelTitles: Readonly<Record<ChannelView['name'], string>> = {
  telegram: 'Telegram',
  discord: 'Discord',
  slack: 'Slack',
  whatsapp: 'WhatsApp',
  webhook: 'Webhook channel',
}
