import { attachmentsMax } from '@flotilla/protocol/chat-attachments'
import { wireLimits } from '@flotilla/protocol/limits'
import { channelIdentities } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import * as z from 'zod'
import { referenceMaxChars } from '../adapter.ts'
import type { ReceivedAttachment, ReceivedMessage } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { placeSchema } from '../conversation.ts'

const fileNameMaxChars = 120

const plainFileSchema = z.object({
  kind: z.enum(['picture', 'document', 'voice']),
  /** For people's eyes, on one line. */
  name: z.string(),
  sizeBytes: z.number().nullable(),
  reference: z.string(),
})
export type PlainFile = z.infer<typeof plainFileSchema>

/** What is kept of a message: its words without what a person could not see, and where and by whom they were said. */
export const plainMessageSchema = z.object({
  id: z.string(),
  senderId: z.string(),
  place: placeSchema,
  text: z.string(),
  pressed: z.string().nullable(),
  files: z.array(plainFileSchema).default([]),
  /** Files that were over a bound. */
  filesLeftOut: z.number().default(0),
  /** What the other messages of the same album bear; null for one alone. */
  albumId: z.string().nullable().default(null),
})
export type PlainMessage = z.infer<typeof plainMessageSchema>

/**
 * Null for what is nobody's business: words of people to one another, nothing said, ids that no platform gives out. What is
 * too long stays so long that it is seen to be. Pure.
 */
export function plainMessage(channel: ChannelName, received: ReceivedMessage): PlainMessage | null {
  const { id, senderId, place, pressed, albumId = '' } = received
  if (!place.isPrivate && !received.addressed) return null
  if (!channelIdentities[channel].form.test(senderId)) return null
  if (id === '' || id.length > channelLimits.messageIdMaxChars) return null
  const placeIds = [place.conversationId, place.threadId ?? '']
  if (placeIds.some((one) => one.length > channelLimits.placeIdMaxChars)) return null
  const text = sanitizeForPrompt(received.text.slice(0, 2 * wireLimits.chatMessageMaxChars)).trim()
  const files = received.attachments.filter(isFetched).slice(0, attachmentsMax).map(plainFile)
  const filesLeftOut = received.attachments.length - files.length
  if (text === '' && pressed === null && files.length === 0 && filesLeftOut === 0) return null
  return {
    id,
    senderId,
    place: {
      conversationId: place.conversationId,
      threadId: place.threadId,
      isPrivate: place.isPrivate,
    },
    text,
    pressed: pressed === null ? null : sanitizeForPrompt(pressed.slice(0, 2 * channelLimits.nameMaxChars)),
    files,
    filesLeftOut,
    albumId: albumId === '' || albumId.length > channelLimits.messageIdMaxChars ? null : albumId,
  }
}

function isFetched({ reference }: ReceivedAttachment): boolean {
  return reference !== '' && reference.length <= referenceMaxChars
}

function plainFile({ kind, name, sizeBytes, reference }: ReceivedAttachment): PlainFile {
  const words = sanitizeForPrompt(name.slice(0, 2 * fileNameMaxChars)).replace(/\s+/g, ' ')
  return { kind, name: words.trim().slice(0, fileNameMaxChars) || 'file', sizeBytes, reference }
}
