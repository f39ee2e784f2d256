import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ImageRef, PromptMessage } from '../llm/language-model.ts'
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

/**
 * Keeps the pictures of a conversation within their limits. Once there are too many, the newest within half of the
 * limits are kept, and always those of the newest result: if each new picture replaced the oldest one, no call would
 * find the conversation in the provider's cache. Each result keeps all of its pictures or none. Pure.
 */
export function boundImages(messages: readonly PromptMessage[]): PromptMessage[] {
  const pictures = messages.flatMap((message) => imagesOf(message))
  const isWithin = pictures.length <= imagesMax && bytesOf(pictures) <= imageMaxBytes
  if (isWithin) return [...messages]
  let count = 0
  let bytes = 0
  const kept = messages.toReversed().map((message) => {
    const images = imagesOf(message)
    if (images.length === 0) return message
    const isNewest = count === 0
    count += images.length
    bytes += bytesOf(images)
    const hasRoom = count <= imagesMax / 2 && bytes <= imageMaxBytes / 2
    return isNewest || hasRoom ? message : withoutImages(message)
  })
  return kept.toReversed()
}

function imagesOf(message: PromptMessage): readonly ImageRef[] {
  return message.role === 'tool' ? (message.images ?? []) : []
}

function bytesOf(images: readonly ImageRef[]): number {
  return images.reduce((sum, image) => sum + image.sizeBytes, 0)
}
