import { wireLimits } from '@flotilla/protocol/limits'
import { channelIdentities } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import * as z from 'zod'
import type { ReceivedMessage } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { placeSchema } from '../conversation.ts'

/** What is kept of a message: its words without what a person could not see, and where and by whom they were said. */
export const plainMessageSchema = z.object({
  id: z.string(),
  senderId: z.string(),
  place: placeSchema,
  text: z.string(),
  pressed: z.string().nullable(),
  attachments: z.number(),
})
export type PlainMessage = z.infer<typeof plainMessageSchema>

/**
 * Null for what is nobody's business: words of people to one another, nothing said, ids that no platform gives out. What is
 * too long stays so long that it is seen to be. Pure.
 */
export function plainMessage(channel: ChannelName, received: ReceivedMessage): PlainMessage | null {
  const { id, senderId, place, pressed } = received
  if (!place.isPrivate && !received.addressed) return null
  if (!channelIdentities[channel].form.test(senderId)) return null
  if (id === '' || id.length > channelLimits.messageIdMaxChars) return null
  const placeIds = [place.conversationId, place.threadId ?? '']
  if (placeIds.some((one) => one.length > channelLimits.placeIdMaxChars)) return null
  const text = sanitizeForPrompt(received.text.slice(0, 2 * wireLimits.chatMessageMaxChars)).trim()
  const attachments = received.attachments.length
  if (text === '' && pressed === null && attachments === 0) return null
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
    attachments,
  }
}
