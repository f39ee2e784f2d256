import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { afterText } from '../../intake/index.ts'

/**
 * The bytes in which members of a body came, for those that go on as they are: to print a long conversation anew takes
 * longer than all else that is done with it.
 */
export interface Spelling {
  /** How this very value was spelled; null where it must be printed. */
  of(name: string, value: JsonValue): Uint8Array | null
}

/** A list of so many numbers is printed faster too. */
const wordsMax = 1000
/** Smaller bodies are printed faster than they are looked through, bytes. */
const spelledMinBytes = 2048

/**
 * Only of a body that is spelled byte for byte as `JSON.stringify` would: so nothing leaves that would not be printed
 * either, no name that comes twice, of which a provider may read the other one, no number that is read as another, no
 * blanks and escapes that a prompt is charged for. Anything else is null and is printed. `body` is what was parsed of
 * `bytes`. Pure.
 */
export function spellingOf(bytes: Uint8Array, body: JsonObject): Spelling | null {
  if (bytes.length < spelledMinBytes) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Needless escapes; after another backslash they are ordinary text, and such a body is serialized again anyway.
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
  /** Where the values of the outermost object stand. */
  readonly values: ReadonlyMap<string, { readonly from: number; readonly to: number }>
  /** In all objects, those that come twice twice. */
  readonly names: number
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const zero = 0x30
const nine = 0x39

/** Null where something is not as it would be printed. The bytes are valid JSON. */
function membersIn(text: Buffer): Found | null {
  const values = new Map<string, { from: number; to: number }>()
  let names = 0
  let words = 0
  let depth = 0
  let name = ''
  let from = 0
  for (let at = 0; at < text.length;) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      const end = afterText(text, at + 1)
      if (text[end] === colon) {
        const first = text[at + 1] ?? 0
        // Names that are whole numbers are printed before all others.
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
      // A number, a word, or a blank, which is neither.
      const end = behindWord(text, at)
      if (++words > wordsMax || !isPrinted(text.toString('latin1', at, end))) return null
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

/** Letters, digits, signs and points, as in `true` and `-1.5e+3`, and blanks, with which no word is as it is printed. */
function isOfWord(byte: number): boolean {
  return byte !== comma && byte !== 0x7d && byte !== 0x5d
}

function isPrinted(word: string): boolean {
  return word === 'true' || word === 'false' || word === 'null' || String(Number(word)) === word
}

/** In all objects of a value. */
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
