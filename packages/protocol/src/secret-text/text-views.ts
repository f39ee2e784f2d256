import { through } from './in-steps.ts'
import type { Steps } from './in-steps.ts'

/**
 * A text as a reader could see it: decoded, or without its white space. Each unit knows its position in the original
 * text, so that what is found in a view can be removed from the original. Pure, and linear in the text.
 */
export interface TextView {
  readonly units: Uint16Array
  /** The positions in the original at which each unit begins, and at which it ends. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** The text itself, unescaped once and twice, and the last without white space (wrapped base64, folded headers). */
export function* textViews(text: string): Steps<readonly TextView[]> {
  const plain = yield* plainView(text)
  const once = yield* unescaped(plain)
  const twice = once === plain ? once : yield* unescaped(once)
  return [...new Set([plain, once, twice, yield* squeezed(twice), yield* squeezed(plain)])]
}

/** Units normalized for comparison: letters in one case, and equal characters of base64 and URL-encoded alphabets. */
export function* folded(units: Uint16Array): Steps<Uint16Array> {
  const result = new Uint16Array(units.length)
  yield* through(units.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const unit = units[at] ?? 0
      result[at] = unit < 0x80 ? (foldTable[unit] ?? 0) : unit
    }
    return to
  })
  return result
}

const foldTable = Uint16Array.from({ length: 0x80 }, (_, unit) => {
  if (unit >= 0x41 && unit <= 0x5a) return unit | 0x20
  // Maps space and `-` to `+`, and `_` to `/`.
  if (unit === 0x20 || unit === 0x2d) return 0x2b
  return unit === 0x5f ? 0x2f : unit
})

export function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at)
  return units
}

/** Whether a unit is white space or invisible. */
export function isBlank(unit: number): boolean {
  return (
    unit <= 0x20 || unit === 0xa0 || unit === 0xad || (unit >= 0x200b && unit <= 0x200d) || unit === 0xfeff
  )
}

function* plainView(text: string): Steps<TextView> {
  const units = new Uint16Array(text.length)
  const starts = new Uint32Array(text.length)
  const ends = new Uint32Array(text.length)
  yield* through(text.length, (from, to) => {
    for (let at = from; at < to; at++) {
      units[at] = text.charCodeAt(at)
      starts[at] = at
      ends[at] = at + 1
    }
    return to
  })
  return { units, starts, ends }
}

/** Decodes percent signs, backslashes and XML entities once: `%41`, `\u0041`, `\x41`, `\n`, `\/`, `&amp;`. */
function unescaped(view: TextView): Steps<TextView> {
  const { units } = view
  return rebuilt(view, (at) => {
    switch (units[at] ?? 0) {
      case 0x25:
        return percentEscape(units, at)
      case 0x5c:
        return backslashEscape(units, at)
      case 0x26:
        return entity(units, at)
      default:
        return null
    }
  })
}

function squeezed(view: TextView): Steps<TextView> {
  return rebuilt(view, (at) => (isBlank(view.units[at] ?? 0) ? nothing : null))
}

/** The meaning of a sequence at a position: its unit, or null, and its length in the text. */
interface Reading {
  readonly unit: number | null
  readonly length: number
}

const nothing: Reading = { unit: null, length: 1 }

function* rebuilt(view: TextView, read: (at: number) => Reading | null): Steps<TextView> {
  const { length } = view.units
  const units = new Uint16Array(length)
  const starts = new Uint32Array(length)
  const ends = new Uint32Array(length)
  let size = 0
  let changed = false
  yield* through(length, (from, to) => {
    let at = from
    while (at < to) {
      const reading = read(at)
      const taken = reading?.length ?? 1
      if (reading) changed = true
      if (reading?.unit !== null) {
        units[size] = reading?.unit ?? view.units[at] ?? 0
        starts[size] = view.starts[at] ?? 0
        ends[size] = view.ends[at + taken - 1] ?? 0
        size++
      }
      at += taken
    }
    return at
  })
  if (!changed) return view
  return { units: units.subarray(0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) }
}

function percentEscape(units: Uint16Array, at: number): Reading | null {
  const unit = hexAt(units, at + 1, 2)
  return unit === null ? null : { unit, length: 3 }
}

const shortEscapes: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, f: 0x0c }

function backslashEscape(units: Uint16Array, at: number): Reading | null {
  const letter = String.fromCharCode(units[at + 1] ?? 0)
  if (letter === 'u' || letter === 'x') {
    const digits = letter === 'u' ? 4 : 2
    const unit = hexAt(units, at + 2, digits)
    return unit === null ? null : { unit, length: 2 + digits }
  }
  const unit = shortEscapes[letter] ?? (/["'\\/]/.test(letter) ? letter.charCodeAt(0) : null)
  return unit === null ? null : { unit, length: 2 }
}

/** XML entities, without the ampersand. */
const namedEntities: readonly (readonly [name: string, unit: number])[] = [
  ['amp;', 0x26],
  ['lt;', 0x3c],
  ['gt;', 0x3e],
  ['quot;', 0x22],
  ['apos;', 0x27],
]
const entityDigitsMax = 6

function entity(units: Uint16Array, at: number): Reading | null {
  if (units[at + 1] === 0x23) return numericEntity(units, at + 2)
  const known = namedEntities.find(([name]) => spells(units, at + 1, name))
  return known ? { unit: known[1], length: known[0].length + 1 } : null
}

function numericEntity(units: Uint16Array, from: number): Reading | null {
  const isHex = ((units[from] ?? 0) | 0x20) === 0x78
  const first = isHex ? from + 1 : from
  let [value, at] = [0, first]
  for (; at < first + entityDigitsMax; at++) {
    const digit = hexDigit(units[at] ?? 0)
    if (digit < 0 || (!isHex && digit > 9)) break
    value = value * (isHex ? 16 : 10) + digit
  }
  if (at === first || units[at] !== 0x3b) return null
  // `from` is two units after the ampersand, at which the length starts; the length ends with the semicolon.
  return { unit: value & 0xffff, length: at - from + 3 }
}

function spells(units: Uint16Array, at: number, word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    if (units[at + index] !== word.charCodeAt(index)) return false
  }
  return true
}

function hexAt(units: Uint16Array, at: number, digits: number): number | null {
  let value = 0
  for (let index = at; index < at + digits; index++) {
    const digit = hexDigit(units[index] ?? 0)
    if (digit < 0) return null
    value = value * 16 + digit
  }
  return value
}

function hexDigit(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30
  const letter = unit | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
