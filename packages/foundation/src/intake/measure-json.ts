import type { JsonBounds } from '@flotilla/protocol/limits'

export interface JsonMeasure {
  readonly nodes: number
  readonly members: number
  readonly depth: number
  readonly nameBytes: number
  /** Length of the longest number or word. */
  readonly numberBytes: number
  /** True for a name that could reach a prototype, or whose escapes only a parser resolves. */
  readonly hasOddName: boolean
  /** The first limit that is exceeded, as text; later bytes were not read. */
  readonly fault: string | null
}

const quote = 1
const opening = 2
const closing = 3
const colon = 4
const between = 5
const plain = 6

/** The kind of each byte outside of texts. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (' \n\r\t,'.includes(character)) return between
  if (character === '"') return quote
  if (character === '{' || character === '[') return opening
  if (character === '}' || character === ']') return closing
  return character === ':' ? colon : plain
})

/**
 * Measures how much a JSON text would create, in one pass over its bytes that allocates nothing. Exact for valid
 * JSON; for anything else the counts are at least what a parser creates before it stops. Each byte is read a bounded
 * number of times, and no input makes it throw. Pure.
 */
export function measureJson(bytes: Uint8Array, bounds: JsonBounds): JsonMeasure {
  const { length } = bytes
  /** The last text may still turn out to be a name, so this limit is exceeded by one at most. */
  const valuesMax = bounds.nodesMax + 1
  // Counts each name as a value until its colon is read; then the name counts as a member only.
  let values = 0
  let members = 0
  let level = 0
  let depth = 0
  let nameBytes = 0
  let numberBytes = 0
  let hasOddName = false
  let textFrom = 0
  let textTo = 0
  for (let at = startOf(bytes); at < length;) {
    const kind = kinds[bytes[at] ?? 0]
    if (kind === quote) {
      textFrom = at + 1
      at = afterText(bytes, textFrom)
      textTo = at - 1
      if (++values > valuesMax) break
    } else if (kind === plain) {
      const from = at
      do at++
      while (at < length && kinds[bytes[at] ?? 0] === plain)
      if (at - from > numberBytes) numberBytes = at - from
      if (++values > valuesMax || numberBytes > bounds.numberMaxBytes) break
    } else {
      at++
      if (kind === opening) {
        if (++level > depth) depth = level
        if (++values > valuesMax || depth > bounds.depthMax) break
      } else if (kind === closing) {
        if (level > 0) level--
      } else if (kind === colon) {
        members++
        values--
        if (textTo - textFrom > nameBytes) nameBytes = textTo - textFrom
        hasOddName = hasOddName || isOdd(bytes, textFrom, textTo)
        // After a second colon the name is empty, so the bytes of one name are never counted twice.
        textFrom = textTo
        if (members > bounds.membersMax || nameBytes > bounds.nameMaxBytes) break
      }
    }
  }
  const measure = { nodes: values, members, depth, nameBytes, numberBytes, hasOddName }
  return { ...measure, fault: faultOf(measure, bounds) }
}

function faultOf(measure: Omit<JsonMeasure, 'fault' | 'hasOddName'>, bounds: JsonBounds): string | null {
  if (measure.depth > bounds.depthMax) return `is nested deeper than ${bounds.depthMax} levels`
  if (measure.nodes > bounds.nodesMax) return `has more than ${bounds.nodesMax} values`
  if (measure.members > bounds.membersMax) return `has more than ${bounds.membersMax} names in its objects`
  if (measure.nameBytes > bounds.nameMaxBytes) return `has a name longer than ${bounds.nameMaxBytes} bytes`
  if (measure.numberBytes > bounds.numberMaxBytes)
    return `has a number longer than ${bounds.numberMaxBytes} bytes`
  return null
}

/** Skips the byte order mark that some senders add before UTF-8. */
function startOf(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

const quoteByte = 0x22
const backslash = 0x5c
/** Longer texts are searched with `indexOf`, whose call costs as much as scanning this many bytes. */
const nearBytes = 64

/** Returns the position after the closing quote of the text that starts at `from`; `length + 1` if none. Pure. */
export function afterText(bytes: Uint8Array, from: number): number {
  const { length } = bytes
  // The byte before `at` is never the first half of an escape.
  for (let at = from; at < length;) {
    const near = at + nearBytes < length ? at + nearBytes : length
    while (at < near) {
      const byte = bytes[at]
      if (byte === quoteByte) return at + 1
      at += byte === backslash ? 2 : 1
    }
    const end = bytes.indexOf(quoteByte, at)
    if (end === -1) break
    let slashes = 0
    while (end - slashes > at && bytes[end - 1 - slashes] === backslash) slashes++
    at = end + 1
    if (slashes % 2 === 0) return at
  }
  return length + 1
}

const underscore = 0x5f
const letterC = 0x63

function isOdd(bytes: Uint8Array, from: number, to: number): boolean {
  const length = to - from
  if (length === 9 && bytes[from] === underscore) return true
  if (length === 11 && bytes[from] === letterC) return true
  for (let at = from; at < to; at++) if (bytes[at] === backslash) return true
  return false
}
