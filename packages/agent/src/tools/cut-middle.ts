import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** Sanitizing takes time per character, and the middle of a long text is cut anyway. */
const cleanedTimes = 4

/**
 * Sanitizes and cuts untrusted text. Of a very long text only the visible parts are sanitized: ten megabytes
 * would block the process for seconds. Pure.
 */
export function cleanAndCut(text: string, maxChars: number): PromptText {
  if (text.length <= maxChars * cleanedTimes) return cutMiddle(sanitizeForPrompt(text), maxChars)
  const pieceChars = (maxChars * cleanedTimes) / 2
  const marker = sanitizeForPrompt(`\n[about ${text.length - maxChars} characters omitted]\n`)
  const room = Math.max(0, maxChars - marker.length)
  const headChars = Math.ceil(room * 0.6)
  const head = truncatePromptText(sanitizeForPrompt(text.slice(0, pieceChars)), headChars, '')
  const tail = sanitizeForPrompt(text.slice(-pieceChars))
  return joinPromptText([head, marker, sanitizeForPrompt(tail.slice(-(room - headChars)))], '')
}

/** Keeps the beginning and the end, where programs say what they do and how it went. Pure. */
export function cutMiddle(text: PromptText, maxChars: number): PromptText {
  if (text.length <= maxChars) return text
  const marker = sanitizeForPrompt(`\n[${text.length - maxChars} characters omitted]\n`)
  const room = Math.max(0, maxChars - marker.length)
  const headChars = Math.ceil(room * 0.6)
  const head = truncatePromptText(text, headChars, '')
  // Half a surrogate pair at the cut is removed.
  const tail = sanitizeForPrompt(text.slice(text.length - (room - headChars)))
  return joinPromptText([head, marker, tail], '')
}
