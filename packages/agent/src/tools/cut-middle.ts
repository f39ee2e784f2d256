import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'

/** Cleaning takes time by the character, and of a long text nobody reads the middle. */
const cleanedTimes = 4

/**
 * Words from outside, clean and cut. Of a very long text only the parts that can be seen are looked at: ten megabytes
 * would stop the process for seconds. Pure.
 */
export function cleanAndCut(words: string, maxChars: number): PromptText {
  if (words.length <= maxChars * cleanedTimes) return cutMiddle(sanitizeForPrompt(words), maxChars)
  const pieceChars = (maxChars * cleanedTimes) / 2
  const marker = sanitizeForPrompt(`\n[about ${words.length - maxChars} characters left out]\n`)
  const room = Math.max(0, maxChars - marker.length)
  const headChars = Math.ceil(room * 0.6)
  const head = truncatePromptText(sanitizeForPrompt(words.slice(0, pieceChars)), headChars, '')
  const tail = sanitizeForPrompt(words.slice(-pieceChars))
  return joinPromptText([head, marker, sanitizeForPrompt(tail.slice(-(room - headChars)))], '')
}

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
