import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** Text on one line, sanitized and cut, so that foreign text cannot pass for an entry of the log. Pure. */
export function oneLine(text: string, maxChars: number): PromptText {
  const line = sanitizeForPrompt(text).replaceAll(/\s+/gu, ' ').trim()
  return truncatePromptText(sanitizeForPrompt(line), maxChars, '…')
}
