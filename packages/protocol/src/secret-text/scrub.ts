import { createPatternFinder, patternMinUnits } from './find-patterns.ts'
import { inOneGo } from './in-steps.ts'
import type { Steps } from './in-steps.ts'
import type { Occurrence } from './find-patterns.ts'
import { folded, isBlank, textViews, unitsOf } from './text-views.ts'

/**
 * Removes the values of credentials from responses: as they are, in either case, percent-encoded, escaped as JSON or
 * XML, as hex, as base64 of either alphabet at any alignment, wrapped or not, and escaped twice. A server that
 * rearranges a value on purpose cannot be stopped here; the binding to hosts protects against that.
 */
export interface Scrub {
  text(text: string): string
  /** Like `text`, for a text of any length, step by step. */
  inSteps(text: string): Steps<string>
  /**
   * For a text that is cut at its end: removes its last `reachChars`, in which a value may have begun whose rest is
   * unknown. They are removed whatever they contain. If only text that begins like a value were removed, the author
   * of the text could guess a value letter by letter.
   */
  cutText(text: string): string
  /** Cleans names and values. */
  record(record: Readonly<Record<string, string>>): Record<string, string>
  isIn(text: string): boolean
  /** Where values are written in the text, in order and without overlaps. */
  find(text: string): readonly Range[]
  /** The maximum length of text that one value can fill, in characters; this much text is read before it is cut. */
  readonly reachChars: number
}

export const secretMark = '[secret]'
/** Characters that one character of a value can fill: as `\u00XX` escaped twice, with white space between. */
const stretchPerChar = 16

interface Pattern {
  readonly units: Uint16Array
  /** True if the ends of the pattern share a base64 digit with the adjacent bytes. */
  readonly isBase64: boolean
}

/** `from` to `to` (exclusive), in characters of the text. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** A scrub for one call of one agent, with the credentials of these holders. */
export type ScrubFor<Holder extends object> = (holders: readonly Holder[]) => Scrub

/**
 * The encodings of a value are computed once for as long as the value is held: for a thousand credentials they take
 * half a second, which no call may cost.
 */
export function createScrubs<Holder extends object>(valueOf: (holder: Holder) => string): ScrubFor<Holder> {
  const known = new WeakMap<Holder, readonly Pattern[]>()
  return (holders) => {
    const long = holders.filter((holder) => valueOf(holder).length >= patternMinUnits)
    const patterns = long.flatMap((holder) => {
      const own = known.get(holder) ?? patternsOf(valueOf(holder))
      known.set(holder, own)
      return own
    })
    return scrubOf(long.map(valueOf), patterns)
  }
}

function scrubOf(values: readonly string[], patterns: readonly Pattern[]): Scrub {
  const finder = createPatternFinder(patterns.map(({ units }) => units))
  const reachChars = values.reduce((longest, value) => Math.max(longest, value.length * stretchPerChar), 0)

  function* rangesIn(text: string): Steps<readonly Range[]> {
    const ranges: Range[] = []
    if (patterns.length === 0 || text.length < patternMinUnits) return ranges
    for (const { units, starts, ends } of yield* textViews(text)) {
      for (const found of yield* finder.find(yield* folded(units))) {
        const range = { from: starts[found.from] ?? 0, to: ends[found.to - 1] ?? text.length }
        ranges.push(isBase64(found) ? widened(text, range) : range)
      }
    }
    return ranges
  }

  function isBase64({ pattern }: Occurrence): boolean {
    return patterns[pattern]?.isBase64 ?? false
  }

  function* inSteps(text: string): Steps<string> {
    return without(text, yield* rangesIn(text))
  }

  const clean = (text: string): string => inOneGo(inSteps(text))
  return {
    text: clean,
    inSteps,
    cutText: (text) => {
      const end = Math.max(0, text.length - reachChars)
      const whole = inOneGo(rangesIn(text)).filter(({ from }) => from < end)
      return without(text.slice(0, end), whole)
    },
    record: (record) =>
      Object.fromEntries(Object.entries(record).map(([name, value]) => [clean(name), clean(value)])),
    isIn: (text) => inOneGo(rangesIn(text)).length > 0,
    find: (text) => merged(inOneGo(rangesIn(text))),
    reachChars,
  }
}

function without(text: string, ranges: readonly Range[]): string {
  return replaceRanges(text, merged(ranges), secretMark)
}

/** Writes `mark` in the place of each range; they are in order and do not overlap. Pure. */
export function replaceRanges(text: string, ranges: readonly Range[], mark: string): string {
  if (ranges.length === 0) return text
  const parts: string[] = []
  let done = 0
  for (const { from, to } of ranges) {
    parts.push(text.slice(done, from), mark)
    done = to
  }
  parts.push(text.slice(done))
  return parts.join('')
}

/** Ranges in order; overlapping ranges are merged. Pure. */
export function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = []
  for (const range of ranges.toSorted((one, other) => one.from - other.from)) {
    const last = result.at(-1)
    if (last === undefined || range.from >= last.to) result.push(range)
    else if (range.to > last.to) result[result.length - 1] = { from: last.from, to: range.to }
  }
  return result
}

/** Widens a match to the adjacent base64 digits, which also hold bits of the value. */
function widened(text: string, { from, to }: Range): Range {
  const isDigit = (at: number) => /[A-Za-z0-9+/_-]/.test(text[at] ?? '')
  let end = isDigit(to) ? to + 1 : to
  while (text[end] === '=' && end < to + 3) end++
  return { from: isDigit(from - 1) ? from - 1 : from, to: end }
}

function patternsOf(value: string): Pattern[] {
  const forms = new Map<string, Pattern>()
  const add = (text: string, isBase64 = false) => {
    const units = unitsOf(text)
    for (const shape of [units, units.filter((unit) => !isBlank(unit))].map((one) => inOneGo(folded(one)))) {
      if (shape.length >= patternMinUnits) forms.set(shape.join(), { units: shape, isBase64 })
    }
  }
  for (const text of [value, value.toLowerCase(), value.toUpperCase()]) add(text)
  // Escapes of single bytes are decoded to one unit per byte, so the bytes of the value are a pattern too.
  add(Buffer.from(value).toString('latin1'))
  for (const spelling of new Set([
    value,
    encodeURIComponent(value.toWellFormed()),
    JSON.stringify(value).slice(1, -1),
  ])) {
    const bytes = Buffer.from(spelling)
    add(bytes.toString('hex'))
    for (const before of [0, 1, 2]) add(base64Core(bytes, before), true)
  }
  return [...forms.values()]
}

/** The base64 digits that do not depend on the bytes before and after; `before` is how many bytes precede, modulo 3. Pure. */
export function base64Core(bytes: Buffer, before: number): string {
  const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
}
