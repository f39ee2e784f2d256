import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'

/** About 100,000 tokens; models with less room say so themselves. */
const contextMaxChars = 400_000
const keptWholeMax = 12

/**
 * Fits a conversation into a model's window: the results of the oldest calls are replaced by a note, newest
 * ones last and the latest messages never. Nothing is removed, so calls keep their results. Pure.
 */
export function compactContext(
  messages: readonly PromptMessage[],
  maxChars: number = contextMaxChars,
): readonly PromptMessage[] {
  let excess = messages.reduce((sum, message) => sum + message.content.length, 0) - maxChars
  if (excess <= 0) return messages
  const lastCut = messages.length - keptWholeMax
  return messages.map((message, index) => {
    if (excess <= 0 || index >= lastCut || message.role !== 'tool') return message
    const note = sanitizeForPrompt(`[result of ${message.content.length} characters dropped to save room]`)
    if (note.length >= message.content.length) return message
    excess -= message.content.length - note.length
    return { ...message, content: note }
  })
}
