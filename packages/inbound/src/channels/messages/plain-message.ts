import { attachmentsMax } from '@flotilla/protocol/chat-attachments'
import { wireLimits } from '@flotilla/protocol/limits'
import { channelIdentities } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import * as z from 'zod'
import { referenceMaxChars } from '../adapter.ts'
import type { ForwardedText, ReceivedAttachment, ReceivedMessage } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { placeSchema } from '../conversation.ts'

/** The maximum length of a file's name in the text for the agent, in characters. */
const fileNameMaxChars = 120

const plainFileSchema = z.object({
  kind: z.enum(['picture', 'document', 'voice']),
  /** One line, for display. */
  name: z.string(),
  sizeBytes: z.number().nullable(),
  reference: z.string(),
  /** Present if the sender forwards a file that another person made. */
  forwarded: z.literal(true).optional(),
})
export type PlainFile = z.infer<typeof plainFileSchema>

/** The stored form of a message: its text without invisible characters, its place and its sender. */
export const plainMessageSchema = z.object({
  id: z.string(),
  senderId: z.string(),
  place: placeSchema,
  /** The text that the sender wrote. */
  text: z.string(),
  /** Forwarded text of another author; absent if the sender wrote everything. */
  forwarded: z.object({ text: z.string(), by: z.string() }).optional(),
  pressed: z.string().nullable(),
  files: z.array(plainFileSchema).default([]),
  /** The number of files above the limit, which are left out. */
  filesLeftOut: z.number().default(0),
  /** The id that all messages of one album share; null for a single message. */
  albumId: z.string().nullable().default(null),
})
export type PlainMessage = z.infer<typeof plainMessageSchema>

/**
 * Returns a message in its stored form. Null for messages to ignore: messages between people, empty ones, and
 * ids that no platform issues. Text above the limit stays too long, so that later checks reject it. Pure.
 */
export function plainMessage(channel: ChannelName, received: ReceivedMessage): PlainMessage | null {
  const { id, senderId, place, pressed, forwarded, albumId = '' } = received
  if (!place.isPrivate && !received.addressed) return null
  if (!channelIdentities[channel].form.test(senderId)) return null
  if (id === '' || id.length > channelLimits.messageIdMaxChars) return null
  const placeIds = [place.conversationId, place.threadId ?? '']
  if (placeIds.some((one) => one.length > channelLimits.placeIdMaxChars)) return null
  const text = plainText(received.text)
  const passedOn = forwarded === undefined ? undefined : plainForwarded(forwarded)
  const attachments = [
    ...received.attachments,
    ...(forwarded?.attachments ?? []).map((file) => ({ ...file, forwarded: true as const })),
  ]
  const files = attachments.filter(isFetched).slice(0, attachmentsMax).map(plainFile)
  const filesLeftOut = attachments.length - files.length
  const hasWords = text !== '' || pressed !== null || (passedOn !== undefined && passedOn.text !== '')
  if (!hasWords && files.length === 0 && filesLeftOut === 0) return null
  return {
    id,
    senderId,
    place: {
      conversationId: place.conversationId,
      threadId: place.threadId,
      isPrivate: place.isPrivate,
    },
    text,
    ...(passedOn === undefined ? {} : { forwarded: passedOn }),
    pressed: pressed === null ? null : sanitizeForPrompt(pressed.slice(0, 2 * channelLimits.nameMaxChars)),
    files,
    filesLeftOut,
    albumId: albumId === '' || albumId.length > channelLimits.messageIdMaxChars ? null : albumId,
  }
}

function isFetched({ reference }: ReceivedAttachment): boolean {
  return reference !== '' && reference.length <= referenceMaxChars
}

function plainText(text: string): string {
  return sanitizeForPrompt(text.slice(0, 2 * wireLimits.chatMessageMaxChars)).trim()
}

function plainForwarded({ text, by }: ForwardedText): NonNullable<PlainMessage['forwarded']> {
  return { text: plainText(text), by: plainName(by, channelLimits.nameMaxChars) }
}

function plainFile({
  kind,
  name,
  sizeBytes,
  reference,
  ...file
}: ReceivedAttachment & Pick<PlainFile, 'forwarded'>): PlainFile {
  const shown = plainName(name, fileNameMaxChars) || 'file'
  return { kind, name: shown, sizeBytes, reference, ...(file.forwarded ? { forwarded: true } : {}) }
}

/** Reduces a name to one line. */
function plainName(name: string, maxChars: number): string {
  const plain = sanitizeForPrompt(name.slice(0, 2 * maxChars)).replace(/\s+/g, ' ')
  return plain.trim().slice(0, maxChars)
}
