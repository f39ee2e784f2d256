/* oxlint-disable no-misleading-character-class -- these classes name joiners and combining marks on purpose */

/**
 * Text hygiene for everything a model reads: characters that a person cannot see are removed, so that the model
 * gets what the owner sees. This removal is no defense against instructions in plain sight. Pure.
 *
 * Kept on purpose: tab, line feed, carriage return; joiners and variation selectors one at a time (Persian and
 * Indic scripts, emoji sequences need them); the tag characters of a flag such as Scotland's, and only there.
 */

declare const promptTextMark: unique symbol

/** Text that `sanitizeForPrompt` returned. No other code creates this type, so a missing call does not compile. */
export type PromptText = string & { readonly [promptTextMark]: true }

/** A black flag, three to six lower-case tag letters or digits, and the cancel tag (UTS 51, ED-14a). */
const tagFlag = /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}/gu

/** Line and paragraph separators, which a person sees as line ends: they become line feeds. */
const separators = /[\u2028\u2029]/gu

/** Characters of the invisible categories that are kept nevertheless. */
const keptControls = /[\t\n\r\u200C\u200D\uFE0E\uFE0F]/u

/** Characters of categories without a visible form, then blanks, fillers and selectors that look like nothing. */
const invisible =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\uFE00-\uFE0D\u{E0100}-\u{E01EF}\u034F\u115F\u1160\u17B4\u17B5\u3164\uFFA0\uFFFC]/gu

/** Invisible joiners and selectors in a row can hide data: one selector and one joiner are kept, others removed. */
const joinerRun = /([\uFE0E\uFE0F]?[\u200C\u200D]?)[\u200C\u200D\uFE0E\uFE0F]*/gu

/** ASCII text without any character to remove; most text matches, which saves three further passes. */
const plain = /^[\t\n\r\x20-\x7E]*$/

/** Returns the text without invisible characters; the empty text for any value that is not text. */
export function sanitizeForPrompt(text: unknown): PromptText {
  if (typeof text !== 'string') return '' as PromptText
  if (plain.test(text)) return text as PromptText
  const cleaned: string[] = []
  let from = 0
  for (const flag of text.matchAll(tagFlag)) {
    cleaned.push(stripInvisible(text.slice(from, flag.index)), flag[0])
    from = flag.index + flag[0].length
  }
  cleaned.push(stripInvisible(text.slice(from)))
  return cleaned.join('') as PromptText
}

/** Joins parts that are already clean. */
export function joinPromptText(parts: readonly PromptText[], separator: string): PromptText {
  return parts.join(separator) as PromptText
}

/** Cuts a text without splitting a code point. `marker` replaces the rest, and counts towards `maxChars`. */
export function truncatePromptText(text: PromptText, maxChars: number, marker = '\n[cut]'): PromptText {
  if (text.length <= maxChars) return text
  const cut = text.slice(0, Math.max(0, maxChars - marker.length))
  const whole = /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
  return (whole + marker) as PromptText
}

function stripInvisible(text: string): string {
  return text
    .replace(separators, '\n')
    .replace(invisible, (character) => (keptControls.test(character) ? character : ''))
    .replace(joinerRun, '$1')
}
