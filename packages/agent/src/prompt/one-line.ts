import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** On one line, clean and cut, so that the words of others cannot pass for an entry of ours. Pure. */
export function oneLine(text: string, maxChars: number): PromptText {
  const line = sanitizeForPrompt(text).replaceAll(/\s+/gu, ' ').trim()
  return truncatePromptText(sanitizeForPrompt(line), maxChars, '…')
}
