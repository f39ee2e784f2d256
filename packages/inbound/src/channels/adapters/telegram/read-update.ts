import type { Message, Update, User } from 'grammy/types'
import type { ReceivedAttachment, ReceivedMessage } from '../../adapter.ts'
import type { TelegramIds } from './message-ids.ts'

/** Twice Telegram's limit for a message, in UTF-16 code units. */
const textCharsMax = 8192
/** The maximum length of a sender's name, in characters. */
const nameCharsMax = 64
/** The maximum length of the name of a received file, in characters. */
const fileNameCharsMax = 200
/** Fields that mark a message as forwarded, including those of Bot API servers before version 7. */
const forwardMarks = [
  'forward_origin',
  'forward_from',
  'forward_from_chat',
  'forward_sender_name',
  'forward_date',
] as const

export interface TelegramSelf {
  readonly id: number
  readonly username: string
  readonly ids: Pick<TelegramIds, 'of'>
}

export interface ReadUpdate extends ReceivedMessage {
  /** The id of a button press that must be acknowledged; null for a text message. */
  readonly callbackId: string | null
}

/**
 * Returns a message of a person. Null for updates to ignore: bots, channels, senders on behalf of a
 * group, joins and edits. Pure.
 */
export function readUpdate(update: Update, self: TelegramSelf): ReadUpdate | null {
  if (update.message !== undefined) return readMessage(update.message, self)
  const query = update.callback_query
  if (query?.data === undefined || query.message === undefined || query.from.is_bot) return null
  return {
    id: `callback:${query.id}`,
    ...senderOf(query.from),
    place: placeOf(query.message),
    text: '',
    pressed: query.data,
    addressed: true,
    attachments: [],
    callbackId: query.id,
  }
}

function readMessage(message: Message, self: TelegramSelf): ReadUpdate | null {
  const { from, chat } = message
  if (!from || from.is_bot || chat.type === 'channel' || isWrittenByProgram(message)) return null
  const files = filesOf(message)
  const content = readText(message, self)
  if (content.text === '' && files.length === 0) return null
  const answersUs = message.reply_to_message?.from?.id === self.id
  return {
    id: self.ids.of(chat.id, message.message_id),
    ...senderOf(from),
    place: placeOf(message),
    ...authoredParts(message, { text: content.text, files }),
    pressed: null,
    addressed: chat.type === 'private' || (!content.isForOther && (content.isForUs || answersUs)),
    ...(message.media_group_id === undefined ? {} : { albumId: message.media_group_id }),
    callbackId: null,
  }
}

/** True if a channel, an anonymous group admin or another bot wrote under the sender's name. */
function isWrittenByProgram(message: Message): boolean {
  const { sender_chat: speaksAs, via_bot: via, sender_business_bot: business } = message
  return (
    speaksAs !== undefined ||
    via !== undefined ||
    business !== undefined ||
    message.is_automatic_forward === true
  )
}

type Authored = Pick<ReadUpdate, 'text' | 'attachments' | 'forwarded'>

/** Separates own from forwarded content. In a forwarded message neither text, caption nor files are the sender's. */
function authoredParts(
  message: Message,
  { text, files }: { readonly text: string; readonly files: readonly ReceivedAttachment[] },
): Authored {
  const fields: Readonly<Record<string, unknown>> = { ...message }
  if (forwardMarks.every((mark) => fields[mark] === undefined)) return { text, attachments: files }
  const written = (message.text ?? message.caption ?? '').slice(0, textCharsMax)
  const forwarded = { text: written, by: authorOf(message).slice(0, nameCharsMax), attachments: files }
  return { text: '', attachments: [], forwarded }
}

function authorOf({ forward_origin: origin }: Message): string {
  switch (origin?.type) {
    case 'user':
      return senderOf(origin.sender_user).senderName
    case 'hidden_user':
      return origin.sender_user_name
    case 'chat':
      return origin.sender_chat.title ?? ''
    case 'channel':
      return origin.chat.title
    case undefined:
      return ''
  }
}

function senderOf(from: User): Pick<ReadUpdate, 'senderId' | 'senderName'> {
  const name = [from.first_name, from.last_name].filter((part) => part !== undefined).join(' ')
  return { senderId: String(from.id), senderName: name.slice(0, nameCharsMax) }
}

type Place = Pick<Message, 'chat' | 'is_topic_message' | 'message_thread_id'>

function placeOf({ chat, is_topic_message: isTopic, message_thread_id: thread }: Place): ReadUpdate['place'] {
  return {
    conversationId: String(chat.id),
    threadId: isTopic === true && thread !== undefined ? String(thread) : null,
    isPrivate: chat.type === 'private',
  }
}

interface Words {
  readonly text: string
  readonly isForUs: boolean
  /** True for a command that names another bot. */
  readonly isForOther: boolean
}

/** Returns the text without the bot's name in a command or at the beginning, where it only addresses the bot. */
function readText(message: Message, { username }: TelegramSelf): Words {
  const text = (message.text ?? message.caption ?? '').slice(0, textCharsMax)
  const own = `@${username.toLowerCase()}`
  let [isForUs, isForOther] = [false, false]
  let kept = text
  // Processes entities from the end, so that earlier offsets stay valid.
  for (const { type, offset, length } of (message.entities ?? message.caption_entities ?? []).toReversed()) {
    const named = text.slice(offset, offset + length)
    if (type === 'mention' && named.toLowerCase() === own) {
      isForUs = true
      if (offset === 0) kept = kept.slice(length).trimStart()
    }
    if (type !== 'bot_command' || offset !== 0) continue
    const at = named.indexOf('@')
    if (at === -1) isForUs = true
    else if (named.slice(at).toLowerCase() === own) {
      isForUs = true
      kept = named.slice(0, at) + kept.slice(length)
    } else isForOther = true
  }
  return { text: kept, isForUs, isForOther }
}

function filesOf(message: Message): ReceivedAttachment[] {
  const files: ReceivedAttachment[] = []
  // The last entry is the largest size of the picture.
  const photo = message.photo?.at(-1)
  if (photo) files.push(fileOf('picture', photo, { name: 'picture.jpg', mediaType: 'image/jpeg' }))
  const { voice, document, audio, video, video_note: round } = message
  if (voice) files.push(fileOf('voice', voice, { name: 'voice.ogg', mediaType: voice.mime_type }))
  if (round) files.push(fileOf('document', round, { name: 'video.mp4', mediaType: 'video/mp4' }))
  for (const one of [document, audio, video]) {
    if (one) files.push(fileOf('document', one, { name: one.file_name, mediaType: one.mime_type }))
  }
  return files
}

function fileOf(
  kind: ReceivedAttachment['kind'],
  file: { readonly file_id: string; readonly file_size?: number },
  { name, mediaType }: { readonly name?: string | undefined; readonly mediaType?: string | undefined },
): ReceivedAttachment {
  return {
    kind,
    name: (name ?? 'file').slice(0, fileNameCharsMax),
    mediaType: mediaType ?? 'application/octet-stream',
    sizeBytes: file.file_size ?? null,
    reference: file.file_id,
  }
}
