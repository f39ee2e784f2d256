import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** Keeps the beginning and the end, where programs say what they do and how it went. Pure. */
export function cutMiddle(text: PromptText, maxChars: number): PromptText {
  if (text.length <= maxChars) return text
  const marker = sanitizeForPrompt(`\n[${text.length - maxChars} characters left out]\n`)
  const room = Math.max(0, maxChars - marker.length)
  const headChars = Math.ceil(room * 0.6)
  const head = truncatePromptText(text, headChars, '')
  // Half of a pair at the cut is no character and is taken out again.
  const tail = sanitizeForPrompt(text.slice(text.length - (room - headChars)))
  return joinPromptText([head, marker, tail], '')
}
