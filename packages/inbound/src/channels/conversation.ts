import { createHash } from 'node:crypto'
import { sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import * as z from 'zod'
import type { HumanCaller } from '@flotilla/identity/access'
import { defaultSession, originOf } from '@flotilla/work/runs'
import type { ConversationPlace } from './adapter.ts'

export const placeSchema = z.object({
  conversationId: z.string(),
  threadId: z.string().nullable(),
  isPrivate: z.boolean(),
})

/** The unique database key of a place. Pure. */
export function conversationOf({ conversationId, threadId }: ConversationPlace): string {
  const parts = threadId === null ? [conversationId] : [conversationId, threadId]
  // A space separates the key from the suffix of a letter queue.
  return parts.map((part) => part.replace(/[%/ ]/g, encodeURIComponent)).join('/')
}

/**
 * The session that an agent uses. A direct conversation uses the person's session on this channel. Elsewhere each
 * person and thread has its own, so that people in one group do not see each other's text. Pure.
 */
export function sessionAt(caller: HumanCaller, place: ConversationPlace): string {
  const own = defaultSession(originOf(caller))
  if (place.isPrivate && place.threadId === null) return own
  const mark = createHash('sha256').update(conversationOf(place)).digest('hex').slice(0, 12)
  return `${own.slice(0, sessionNameMaxChars - 1 - mark.length)}:${mark}`
}
