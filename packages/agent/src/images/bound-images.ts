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
