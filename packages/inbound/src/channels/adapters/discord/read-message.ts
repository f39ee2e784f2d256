import type { ReceivedMessage } from '../../adapter.ts'
import { cutText } from '../wire-text.ts'
import { receivedAttachment } from './discord-attachment.ts'
import { pressedValue } from './message-body.ts'
import type { KnownChannel } from './discord-channels.ts'
import type { DiscordInteraction, DiscordMessage } from './discord-wire.ts'

/** Types of messages and replies that users write. Joins, pins and the like have other types. */
export const spokenTypes: ReadonlySet<number> = new Set([0, 19])
const textMaxChars = 4000

/** True for a message of a person, false for bots, webhooks, this bot and Discord. Pure. */
export function isSpoken(message: DiscordMessage, ourUserId: string): boolean {
  const { author, webhook_id: webhookId, type } = message
  return spokenTypes.has(type) && author.bot !== true && !webhookId && author.id !== ourUserId
}

export interface MessageSurroundings {
  readonly ourUserId: string
  readonly channel: KnownChannel
}

export function readMessage(message: DiscordMessage, around: MessageSurroundings): ReceivedMessage {
  const { ourUserId, channel } = around
  const { author } = message
  return {
    id: message.id,
    senderId: author.id,
    senderName: author.global_name || author.username,
    place: channel.place,
    text: withoutMention(message.content, ourUserId),
    pressed: null,
    addressed:
      channel.isOurs ||
      message.mentions.some(({ id }) => id === ourUserId) ||
      message.referenced_message?.author.id === ourUserId,
    attachments: message.attachments.map(receivedAttachment),
    ...forwardedIn(message),
  }
}

/** Returns the copies of other messages in a forward, without authors, whom Discord does not name. */
function forwardedIn({ message_snapshots: snapshots }: DiscordMessage): Pick<ReceivedMessage, 'forwarded'> {
  if (snapshots.length === 0) return {}
  const copies = snapshots.map(({ message }) => message)
  const text = cutText(copies.map(textOf).join('\n\n'), textMaxChars)
  const attachments = copies.flatMap((copy) => copy.attachments.map(receivedAttachment))
  return { forwarded: { text, by: '', attachments } }
}

/** Returns the text of a forwarded message, or that of its cards if it has none, as in messages of programs. */
function textOf({ content, embeds }: DiscordMessage['message_snapshots'][number]['message']): string {
  const cards = embeds.flatMap(({ title, description }) => [title, description])
  return content === '' ? cards.filter((part) => part !== '').join('\n') : content
}

function withoutMention(text: string, ourUserId: string): string {
  const trimmed = text.trimStart()
  for (const mention of [`<@${ourUserId}>`, `<@!${ourUserId}>`]) {
    if (trimmed.startsWith(mention)) return trimmed.slice(mention.length).trimStart()
  }
  return text
}

/** Returns a command or button press as a message. Null if it names no user, or a bot. Pure. */
export function readInteraction(
  interaction: DiscordInteraction,
  channel: KnownChannel,
): ReceivedMessage | null {
  const user = interaction.member?.user ?? interaction.user
  if (!user || user.bot === true) return null
  return {
    id: `interaction:${interaction.id}`,
    senderId: user.id,
    senderName: user.global_name || user.username,
    place: channel.place,
    text: isCommand(interaction) ? commandText(interaction) : '',
    pressed: isCommand(interaction) ? null : pressedValue(interaction.data.custom_id),
    addressed: true,
    attachments: [],
  }
}

/** True for a command (type 2), false for a button press (type 3). Pure. */
export function isCommand({ type }: DiscordInteraction): boolean {
  return type === 2
}

function commandText({ data }: DiscordInteraction): string {
  const values = data.options.flatMap(({ value }) => (typeof value === 'string' ? [value] : []))
  return cutText(`/${[data.name, ...values].join(' ')}`, textMaxChars)
}
