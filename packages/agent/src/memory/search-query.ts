const wordsMax = 24
const wordMaxChars = 64
/** Scripts without spaces between words: each character counts as a word. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** Stop words: most texts contain them, so they find nothing and cost the most. */
const empty = new Set(
  'a an and are at be by did do does for from had has have he her his how i in is it its me my not of on or our she that the their they this to was we were what when where which who why will with you your'.split(
    ' ',
  ),
)
const wordPattern = /[\p{L}\p{M}\p{N}]+/gu

/** Pure. A text as its words separated by spaces, for the index. */
export function foldText(text: string): string {
  return wordsIn(text).map(spaced).join(' ')
}

/**
 * Pure. The index query for a question: its words, any of which may match. Every word is quoted, so that no text
 * can inject an expression. Stop words count only if there is no other word. Null if the question has no word.
 */
export function searchExpression(question: string): string | null {
  const found = [...new Set(wordsIn(question))].filter(isTelling)
  const telling = found.filter((word) => !empty.has(word))
  const words = (telling.length > 0 ? telling : found).slice(0, wordsMax)
  return words.length === 0 ? null : words.map((word) => `"${spaced(word)}"`).join(' OR ')
}

function wordsIn(text: string): readonly string[] {
  const words = text.normalize('NFKC').toLowerCase().match(wordPattern) ?? []
  return words.map((word) => word.slice(0, wordMaxChars))
}

/** True for a word that can find facts: several characters, a digit, or a character of a script without spaces. */
function isTelling(word: string): boolean {
  return word.length > 1 || /\p{N}/u.test(word) || unspaced.test(word)
}

function spaced(word: string): string {
  return unspaced.test(word) ? Array.from(word).join(' ') : word
}
