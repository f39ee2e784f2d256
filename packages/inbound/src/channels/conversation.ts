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

/** Returns the unique database key of a place. Pure. */
export function conversationOf({ conversationId, threadId }: ConversationPlace): string {
  const parts = threadId === null ? [conversationId] : [conversationId, threadId]
  // Spaces are encoded, because a space separates the key from the suffix of a letter queue.
  return parts.map((part) => part.replace(/[%/ ]/g, encodeURIComponent)).join('/')
}

/**
 * Returns the session that an agent uses. In a direct conversation that is the person's session on this channel. In a
 * group or a thread each person has a separate session, so that people do not see each other's text. Pure.
 */
export function sessionAt(caller: HumanCaller, place: ConversationPlace): string {
  const own = defaultSession(originOf(caller))
  if (place.isPrivate && place.threadId === null) return own
  const mark = createHash('sha256').update(conversationOf(place)).digest('hex').slice(0, 12)
  return `${own.slice(0, sessionNameMaxChars - 1 - mark.length)}:${mark}`
}
