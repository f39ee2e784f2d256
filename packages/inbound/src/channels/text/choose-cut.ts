import type { RunText } from './text-run.ts'
import { runIndexAt } from './text-run.ts'
import { wholePartAt } from './whole-part.ts'
import type { WholePart } from './whole-part.ts'

/** How good a place to cut is; a higher number is better. */
const ranks = { paragraph: 4, line: 3, sentence: 2, word: 1 } as const

/** A better place to cut is used unless it leaves more than this share of a message empty. */
const emptyShareMax = 2 / 3

/** How far the search looks beyond a cut for combining characters, in UTF-16 code units. */
const aheadChars = 64

const wordSegmenter = new Intl.Segmenter('und', { granularity: 'word' })
const characters = new Intl.Segmenter('und', { granularity: 'grapheme' })

const sentenceEnd = /[.!?…。！？।؟][)\]"'»”’]*$/
const wideSentenceEnd = /[。！？]/
const blank = /\s/
/** Characters that attach to the character before them. */
const attached = /\p{M}|\u200C|\u200D|\uFE0E|\uFE0F/u

/**
 * Returns where to end a message that begins at `from`: after `from`, at most `to`. `fits` returns whether a part
 * fits into one message. Such a part is not divided, even if much of this message stays empty. Pure.
 */
export function chooseCut(
  whole: RunText,
  { from, to }: { readonly from: number; readonly to: number },
  fits: (part: WholePart) => boolean,
): number {
  let last: (WholePart & { readonly fits: boolean }) | null = null
  /**
   * Returns the part that a cut at `at` would divide. The last result is cached, so that a long
   * part is searched for only once.
   */
  const dividedAt = (at: number): WholePart | null => {
    if (last === null || at <= last.from || at >= last.to) {
      const part = wholePartAt(whole, at)
      if (part === null) return null
      last = { ...part, fits: fits(part) }
    }
    return last.fits ? last : null
  }
  const best = bestPlace(whole, { from, to }, (at) => dividedAt(at) === null)
  if (best !== null) return best
  const place = lastPlace(whole.text, from, to)
  const divided = dividedAt(place)
  return divided === null || divided.from <= from ? place : divided.from
}

/** Returns the best place that does not leave too much of the message empty; null if none exists. */
function bestPlace(
  whole: RunText,
  { from, to }: { readonly from: number; readonly to: number },
  isAllowed: (at: number) => boolean,
): number | null {
  const least = from + Math.ceil((to - from) * (1 - emptyShareMax))
  let best = { at: 0, rank: 0 }
  for (let at = to; at >= least; at -= 1) {
    const rank = rankOf(whole, at)
    if (rank > best.rank && isAllowed(at)) best = { at, rank }
    if (best.rank === ranks.paragraph) break
  }
  return best.rank > 0 ? best.at : null
}

/** Returns the last place up to `to` between two words, or else between two characters. */
function lastPlace(text: string, from: number, to: number): number {
  const least = from + Math.ceil((to - from) * (1 - emptyShareMax))
  // The slice extends beyond `to`, so that the last character is complete.
  const near = text.slice(from, to + aheadChars)
  const lastFitting = (segmenter: Intl.Segmenter): number => {
    let last = 0
    for (const { index } of segmenter.segment(near)) {
      if (from + index > to) break
      last = index
    }
    return from + last
  }
  const word = lastFitting(wordSegmenter)
  if (word >= least && characterBegins(text, word)) return word
  const character = lastFitting(characters)
  if (character > from) return character
  // A single grapheme that fills a message is not real text, so it may be cut.
  return isLowSurrogate(text, to) && to - 1 > from ? to - 1 : to
}

function rankOf(whole: RunText, at: number): number {
  const { text } = whole
  const before = text[at - 1] ?? ''
  const after = text[at] ?? ''
  const isWide = wideSentenceEnd.test(before)
  if (!isWide && !blank.test(before)) return 0
  if (attached.test(after)) return 0
  const [left, right] = [runIndexAt(whole, at - 1), runIndexAt(whole, Math.min(at, text.length - 1))]
  const [one, other] = [whole.runs[left]!, whole.runs[right]!]
  if (before === '\n') {
    if (one.style.block !== other.style.block) return ranks.paragraph
    return text[at - 2] === '\n' && one.style.block === null ? ranks.paragraph : ranks.line
  }
  if (isWide || sentenceEnd.test(text.slice(Math.max(0, at - 5), at).trimEnd())) return ranks.sentence
  return ranks.word
}

/** True if a character begins at `at`: a word boundary can lie within a character that is made with joiners. */
function characterBegins(text: string, at: number): boolean {
  const from = Math.max(0, at - aheadChars)
  for (const { index } of characters.segment(text.slice(from, at + aheadChars))) {
    if (from + index === at) return true
    if (from + index > at) return false
  }
  return false
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}
