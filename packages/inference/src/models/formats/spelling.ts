import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { afterText } from '@flotilla/foundation/intake'

/**
 * The original bytes of the members of a body, to forward unchanged members without printing them: printing a long
 * conversation takes longer than all other work on it.
 */
export interface Spelling {
  /** Returns the original bytes of this value; null if it must be printed. */
  of(name: string, value: JsonValue): Uint8Array | null
}

/** The most numbers and keywords that are checked; a longer list is faster to print. */
const wordsMax = 1000
/** The smallest body that is checked, bytes; smaller ones are faster to print. */
const spelledMinBytes = 2048

/**
 * Returns the original bytes if the body is exactly as `JSON.stringify` would print it; otherwise null, and the body
 * is printed. So the bytes contain no duplicate name that a provider might read differently, no number that changes
 * when parsed, and no blanks and escapes that would be billed. `body` is the parsed value of `bytes`. Pure.
 */
export function spellingOf(bytes: Uint8Array, body: JsonObject): Spelling | null {
  if (bytes.length < spelledMinBytes) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Needless escapes. Two backslashes before `u` or `/` look the same; such a body is printed again anyway.
  if (text.includes('\\u') || text.includes('\\/')) return null
  const found = membersIn(text)
  if (found === null || found.names !== namesIn(body)) return null
  return {
    of(name, value) {
      const at = body[name] === value ? found.values.get(name) : undefined
      return at === undefined ? null : text.subarray(at.from, at.to)
    },
  }
}

interface Found {
  /** The positions of the values in the outermost object. */
  readonly values: ReadonlyMap<string, { readonly from: number; readonly to: number }>
  /** The number of names in all objects, including duplicates. */
  readonly names: number
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const zero = 0x30
const nine = 0x39

/** Returns the members of a valid JSON text; null if any part is not as `JSON.stringify` would print it. */
function membersIn(text: Buffer): Found | null {
  const values = new Map<string, { from: number; to: number }>()
  let names = 0
  let wordCount = 0
  let depth = 0
  let name = ''
  let from = 0
  for (let at = 0; at < text.length;) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      const end = afterText(text, at + 1)
      if (text[end] === colon) {
        const first = text[at + 1] ?? 0
        // `JSON.stringify` prints names that are integers first, so the order would differ.
        if (first >= zero && first <= nine) return null
        names++
        if (depth === 1) {
          name = text.toString('utf8', at + 1, end - 1)
          from = end + 1
        }
      }
      at = end
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++
      at++
    } else if (byte === 0x7d || byte === 0x5d) {
      if (--depth === 0) values.set(name, { from, to: at })
      at++
    } else if (byte === comma) {
      if (depth === 1) values.set(name, { from, to: at })
      at++
    } else if (byte === colon) {
      at++
    } else {
      // A number, a keyword, or a blank, which fails the check.
      const end = behindWord(text, at)
      if (++wordCount > wordsMax || !isPrinted(text.toString('latin1', at, end))) return null
      at = end
    }
  }
  return { values, names }
}

function behindWord(text: Buffer, from: number): number {
  let at = from
  while (isOfWord(text[at] ?? comma)) at++
  return at
}

/** Whether a byte is part of a number or keyword: all but a comma or closing bracket; blanks fail a later check. */
function isOfWord(byte: number): boolean {
  return byte !== comma && byte !== 0x7d && byte !== 0x5d
}

function isPrinted(word: string): boolean {
  return word === 'true' || word === 'false' || word === 'null' || String(Number(word)) === word
}

/** Returns the number of names in all objects of a value. */
function namesIn(value: JsonValue): number {
  let names = 0
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) {
    for (const inner of value) names += namesIn(inner)
    return names
  }
  for (const name in value) {
    names += 1 + namesIn(value[name] ?? null)
  }
  return names
}
