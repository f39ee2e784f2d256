import { runIndexAt } from './text-run.ts'
import type { RunStyle, RunText } from './text-run.ts'

/** Emphasized text up to this length is not divided, in UTF-16 code units. */
const emphasisCharsMax = 240

/** Matches an address without brackets or quotes around it. Its scheme is bounded: longer schemes do not exist. */
const address = /[a-z][a-z0-9+.-]{0,30}:\/\/[\w\p{L}\p{M}\p{N}\-.~:/?#[\]@!$&'()*+,;=%]+/giu
/** How far an address is searched on both sides, in UTF-16 code units. A longer one fits into no message. */
const addressReachChars = 16_384
const addressSign = /[\w\p{L}\p{M}\p{N}\-.~:/?#[\]@!$&'()*+,;=%]/u
const opening = /[([<"'\u2018\u201C\u00AB]/u

export interface WholePart {
  readonly from: number
  readonly to: number
}

/** Returns what a cut at `at` would divide: an address, a link, inline code or emphasized text; or null. Pure. */
export function wholePartAt(whole: RunText, at: number): WholePart | null {
  if (at <= 0 || at >= whole.text.length) return null
  return styledPartAt(whole, at) ?? addressAt(whole.text, at)
}

function styledPartAt(whole: RunText, at: number): WholePart | null {
  const [left, right] = [runIndexAt(whole, at - 1), runIndexAt(whole, at)]
  const [one, other] = [whole.runs[left]!.style, whole.runs[right]!.style]
  if (one.link !== null && one.link === other.link) {
    let [first, last] = [left, right]
    while (whole.runs[first - 1]?.style.link === one.link) first -= 1
    while (whole.runs[last + 1]?.style.link === one.link) last += 1
    return partOf(whole, first, last)
  }
  if (left !== right || !isMarked(one)) return null
  const part = partOf(whole, left, left)
  return one.code || part.to - part.from <= emphasisCharsMax ? part : null
}

function partOf({ starts, runs }: RunText, first: number, last: number): WholePart {
  return { from: starts[first]!, to: starts[last]! + runs[last]!.text.length }
}

function isMarked({ bold, italic, strike, code }: RunStyle): boolean {
  return bold || italic || strike || code
}

function addressAt(text: string, at: number): WholePart | null {
  if (!addressSign.test(text[at - 1]!) || !addressSign.test(text[at]!)) return null
  let first = at - 1
  while (first > 0 && at - first < addressReachChars && addressSign.test(text[first - 1]!)) first -= 1
  for (const { 0: found, index } of text.slice(first, at + addressReachChars).matchAll(address)) {
    const [from, to] = [first + index, first + index + found.length]
    if (from >= at) return null
    // An opening bracket or quote before the address belongs to the same unit.
    if (to > at) return { from: opening.test(text[from - 1] ?? '') ? from - 1 : from, to }
  }
  return null
}
