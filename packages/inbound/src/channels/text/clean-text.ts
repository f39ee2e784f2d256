import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/**
 * The maximum part of an answer that is sent as messages, in UTF-16 code units: sixteen messages of the platform with
 * the shortest ones. A longer answer is also sent as a file.
 */
export const answerCharsMax = 32_000

export const cutMark = '[cut]'

/** Limits stacked combining marks. No writing system needs more, and one letter could fill a message. */
const stackedMarks = /(\p{M}{8})\p{M}+/gu

/**
 * Removes invisible characters (control, bidirectional and other format characters), normalizes line ends and bounds
 * the length. Pure.
 */
export function cleanText(text: string): { readonly text: string; readonly wasCut: boolean } {
  const wasCut = text.length > answerCharsMax
  const bounded = wasCut ? wholeUpTo(text, answerCharsMax) : text
  const cleaned = sanitizeForPrompt(bounded.replace(/\r\n?/g, '\n'))
  return { text: cleaned.replace(stackedMarks, '$1'), wasCut }
}

/** The first `max` code units without half of a surrogate pair. Pure. */
export function wholeUpTo(text: string, max: number): string {
  const cut = text.slice(0, max)
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
