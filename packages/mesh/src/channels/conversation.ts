import { createHash } from 'node:crypto'
import { sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import * as z from 'zod'
import type { HumanCaller } from '../access/index.ts'
import { defaultSession, originOf } from '../runs/index.ts'
import type { ConversationPlace } from './adapter.ts'

export const placeSchema = z.object({
  conversationId: z.string(),
  threadId: z.string().nullable(),
  isPrivate: z.boolean(),
})

/** The key of a place, in rows: no two places have the same. Pure. */
export function conversationOf({ conversationId, threadId }: ConversationPlace): string {
  const parts = threadId === null ? [conversationId] : [conversationId, threadId]
  // A blank parts it from what a queue of letters is called besides.
  return parts.map((part) => part.replace(/[%/ ]/g, encodeURIComponent)).join('/')
}

/**
 * The conversation that an agent remembers: alone with a person, theirs on this channel; elsewhere one for each person and
 * thread, so that two people of one group never read each other's words out of it. Pure.
 */
export function sessionAt(caller: HumanCaller, place: ConversationPlace): string {
  const own = defaultSession(originOf(caller))
  if (place.isPrivate && place.threadId === null) return own
  const mark = createHash('sha256').update(conversationOf(place)).digest('hex').slice(0, 12)
  return `${own.slice(0, sessionNameMaxChars - 1 - mark.length)}:${mark}`
}
