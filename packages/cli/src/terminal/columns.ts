import { eastAsianWidth } from 'get-east-asian-width'

// oxlint-disable-next-line eslint/no-control-regex -- escape sequences begin with a control character
const escapes = /\u001B\[[0-9;]*m/g

const made: { segmenter?: Intl.Segmenter; emoji?: RegExp } = {}

/** Splits text into characters with their combining marks. The segmenter is created late, because it is slow. */
export function graphemesOf(text: string): Iterable<Intl.SegmentData> {
  made.segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return made.segmenter.segment(text)
}

/** These characters take exactly one column everywhere, and combine with no other. */
const plain = /^[\x20-\x7E]*$/
export const isPlain = (text: string): boolean => plain.test(text)

/**
 * Characters that `columnsOf` counts as one column, and that combine with no other: printable ASCII, Latin letters,
 * dashes, quotation marks, arrows, lines, blocks. Loading the tables for all other characters takes a command 30 ms.
 */
const single =
  /^[\x20-\x7E\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2027\u2030-\u205E\u2190-\u2193\u2500-\u259F\u2713\u2717]*$/

/** Longer than any emoji, in code units. */
const emojiUnitsMax = 50
const hasPictograph = /[\p{Emoji}--\p{ASCII}]|\u20E3/v
/** Created late and from a string, because V8 takes 30 ms to read it, also if it is never used. */
const isEmoji = (grapheme: string): boolean =>
  hasPictograph.test(grapheme) && (made.emoji ??= new RegExp(String.raw`^\p{RGI_Emoji}$`, 'v')).test(grapheme)

/**
 * Characters without a column: marks, invisible characters, and the later letters of a Korean syllable. Terminals
 * show a soft hyphen, and the signs that precede a number.
 */
const hidden =
  /^[[\p{Mn}\p{Me}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u1160-\u11FF\uD7B0-\uD7FB]--[\u00AD\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2]]$/v

/**
 * How many columns a text takes, without colors. Where terminals differ, emoji count two, characters that Unicode
 * calls ambiguous count one, and a sequence that is no emoji counts all its parts.
 */
export function columnsOf(text: string): number {
  const shown = text.includes('\u001B') ? text.replace(escapes, '') : text
  if (single.test(shown)) return shown.length
  let columns = 0
  for (const { segment } of graphemesOf(shown)) columns += columnsOfGrapheme(segment)
  return columns
}

function columnsOfGrapheme(grapheme: string): number {
  if (grapheme.length <= emojiUnitsMax && isEmoji(grapheme)) return 2
  let columns = 0
  for (const letter of grapheme)
    if (!hidden.test(letter)) columns += eastAsianWidth(letter.codePointAt(0) ?? 0)
  return columns
}
