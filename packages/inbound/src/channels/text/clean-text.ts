import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/**
 * The maximum part of an answer that is sent as messages, in UTF-16 code units: sixteen messages on
 * the platform with the shortest messages. A longer answer is also sent as a file.
 */
export const answerCharsMax = 32_000

export const cutMark = '[cut]'

/** Matches more than eight stacked combining marks: no writing system needs them, and they could fill a message. */
const stackedMarks = /(\p{M}{8})\p{M}+/gu

/**
 * Returns the text without invisible characters (control, bidirectional and other format
 * characters), with normalized line ends and bounded length. Pure.
 */
export function cleanText(text: string): { readonly text: string; readonly wasCut: boolean } {
  const wasCut = text.length > answerCharsMax
  const bounded = wasCut ? wholeWords(wholeUpTo(text, answerCharsMax)) : text
  const cleaned = sanitizeForPrompt(bounded.replace(/\r\n?/g, '\n'))
  return { text: cleaned.replace(stackedMarks, '$1'), wasCut }
}

/** The longest word that is left out because it was cut, in characters; a longer one is no address. */
const cutWordMaxChars = 4096
const cutWord = new RegExp(String.raw`(?<!\S)\S{1,${cutWordMaxChars}}$`)

/** Leaves out the last word, which was cut: the beginning of an address is another address that can be followed. Pure. */
function wholeWords(text: string): string {
  return text.replace(cutWord, '')
}

/** Returns the first `max` code units without half of a surrogate pair. Pure. */
export function wholeUpTo(text: string, max: number): string {
  const cut = text.slice(0, max)
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
