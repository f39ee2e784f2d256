import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'
import { imageMaxBytes, imagesMax } from '@flotilla/protocol/image-type'

const leftOut = sanitizeForPrompt(
  '[The pictures of this result are no longer shown, to save room. Make the same call to see them again.]',
)

/** Returns the message without its pictures and with a note that says so. Pure. */
export function withoutImages(message: PromptMessage): PromptMessage {
  if (message.role !== 'tool' || message.images === undefined) return message
  const { images: _images, ...rest } = message
  return { ...rest, content: joinPromptText([message.content, leftOut], '\n') }
}

/** The maximum number of model answers after a picture for which the picture is still sent. */
export const shownAnswersMax = 24

/**
 * Leaves out pictures that more than `shownAnswersMax` answers follow, so that later calls do not send them again.
 * Once one picture is too old, all pictures with more than half of that many answers are left out too, because each
 * change invalidates the provider's cache of the rest of the conversation. Returns the same messages if no picture is
 * too old. Pure.
 */
export function withoutSeenImages(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const oldest = messages.findIndex(hasPictures)
  if (oldest === -1 || answersAfter(messages, oldest) <= shownAnswersMax) return messages
  return messages.map((message, at) =>
    hasPictures(message) && answersAfter(messages, at) > shownAnswersMax / 2
      ? withoutImages(message)
      : message,
  )
}

function hasPictures(message: PromptMessage): boolean {
  return message.role === 'tool' && message.images !== undefined
}

function answersAfter(messages: readonly PromptMessage[], at: number): number {
  return messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
}

/** Keeps the newest pictures, as many as a conversation may hold; each result keeps all of its own or none. Pure. */
export function boundImages(messages: readonly PromptMessage[]): PromptMessage[] {
  let count = 0
  let bytes = 0
  let isFull = false
  const kept = messages.toReversed().map((message) => {
    if (message.role !== 'tool' || message.images === undefined) return message
    count += message.images.length
    bytes += message.images.reduce((sum, image) => sum + image.sizeBytes, 0)
    isFull ||= count > imagesMax || bytes > imageMaxBytes
    return isFull ? withoutImages(message) : message
  })
  return kept.toReversed()
}
