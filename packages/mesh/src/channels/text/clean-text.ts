import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/** How much of one answer is put into messages, UTF-16 code units: sixteen messages of the platform with the shortest. What is longer is told as a file. */
export const answerCharsMax = 32_000

export const cutMark = '[cut]'

/** Marks above and below one letter: more is no writing of anybody's, and one letter would fill a message. */
const stackedMarks = /(\p{M}{8})\p{M}+/gu

/**
 * Takes away what a person cannot see (control, bidirectional and other characters without a form), makes line ends one,
 * and bounds how long it is. Pure.
 */
export function cleanText(text: string): { readonly text: string; readonly wasCut: boolean } {
  const wasCut = text.length > answerCharsMax
  const bounded = wasCut ? wholeUpTo(text, answerCharsMax) : text
  const cleaned = sanitizeForPrompt(bounded.replace(/\r\n?/g, '\n'))
  return { text: cleaned.replace(stackedMarks, '$1'), wasCut }
}

/** The first `max` code units, without half of a surrogate pair. Pure. */
export function wholeUpTo(text: string, max: number): string {
  const cut = text.slice(0, max)
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
