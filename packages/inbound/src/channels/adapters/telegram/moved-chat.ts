import { GrammyError } from 'grammy'
import type { Update } from 'grammy/types'
import type { MovedConversation } from '../../adapter.ts'

/**
 * Returns a group's migration to a supergroup, which has another id. Both chats get a service
 * message that users cannot write. Null for any other update. Pure.
 */
export function movedByUpdate({ message }: Update): MovedConversation | null {
  const [from, to] = [message?.migrate_from_chat_id, message?.migrate_to_chat_id]
  if (message === undefined) return null
  if (to !== undefined) return movedTo(message.chat.id, to)
  return from === undefined ? null : movedTo(from, message.chat.id)
}

/** Returns the migration that the error of a call to the old group reports; null for any other error. Pure. */
export function movedByError(error: unknown, conversationId: string): MovedConversation | null {
  const to = error instanceof GrammyError ? error.parameters.migrate_to_chat_id : undefined
  return to === undefined ? null : movedTo(conversationId, to)
}

function movedTo(from: number | string, to: number): MovedConversation | null {
  return Number.isSafeInteger(to) && String(from) !== String(to)
    ? { from: String(from), to: String(to) }
    : null
}
