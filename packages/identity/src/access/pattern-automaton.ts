import { asciiCount, runSevenWords, runManyWords, wordsMin } from './run-states.ts'
import type { PatternRun, PatternTables } from './run-states.ts'

/**
 * A pattern as a set of states that all advance together, 32 of them in one machine word. Each character of a text
 * costs the same number of word operations whatever the pattern, so there is nothing to backtrack over. Pure.
 */

export type Token =
  | { readonly kind: 'literal'; readonly character: string }
  /** One character; fnmatch only. */
  | { readonly kind: 'any' }
  | {
      readonly kind: 'set'
      readonly negated: boolean
      readonly ranges: readonly (readonly [string, string])[]
    }
  /** Any number of characters, across `/` or not. */
  | { readonly kind: 'many'; readonly crossesSlash: boolean }
  /** `**` and its slash: nothing, or whole segments. */
  | { readonly kind: 'segments' }

export interface PatternAutomaton {
  /** The most memory that its tables take, in bytes. */
  readonly bytesMax: number
  run(text: string): PatternRun
}

const wordBits = 32
/** The maximum number of stored character masks of a pattern with sets, so that texts do not fill the memory. */
const masksMax = 64
/** The memory of a table, or of one row of a table, in addition to its words, in bytes. */
const tableBytes = 128
const pointerBytes = 8

/** State n means that n tokens of one character each were matched; a star is a loop on the state before it. */
export function compileTokens(tokens: readonly Token[]): PatternAutomaton {
  const takers = tokens.filter((token) => token.kind !== 'many' && token.kind !== 'segments')
  const word = Math.floor(takers.length / wordBits)
  const wordCount = Math.max(word + 1, wordsMin)
  const { ofAscii, ofOther, masksMax: rows } = createMasks(takers, wordCount)
  const last = { word, bit: 1 << (takers.length % wordBits) }
  const tables: PatternTables = { wordCount, ...loopsOf(tokens, wordCount), ofAscii, ofOther, last }
  const run = wordCount === wordsMin ? runSevenWords : runManyWords
  return {
    bytesMax:
      (rows + 3) * (wordCount * Int32Array.BYTES_PER_ELEMENT + tableBytes) + asciiCount * pointerBytes,
    run: (text) => run(text, tables),
  }
}

/** For each kind of star, the states at which it loops, as bits of words. */
function loopsOf(tokens: readonly Token[], wordCount: number) {
  const loops = {
    across: new Int32Array(wordCount),
    /** Across `/` or not: where a state stays at any other character. */
    either: new Int32Array(wordCount),
    segments: new Int32Array(wordCount),
  }
  let state = 0
  for (const token of tokens) {
    if (token.kind === 'segments') setBit(loops.segments, state)
    else if (token.kind === 'many') {
      setBit(loops.either, state)
      if (token.crossesSlash) setBit(loops.across, state)
    } else state++
  }
  return loops
}

/** For each character, the states that it advances. A list for ASCII: a look into a map costs as much as three words. */
function createMasks(takers: readonly Token[], wordCount: number): CharacterMasks {
  const literals = new Map<number, Int32Array>()
  const others: { readonly token: Token; readonly state: number }[] = []
  for (const [state, token] of takers.entries()) {
    if (token.kind !== 'literal') {
      others.push({ token, state })
      continue
    }
    const code = token.character.charCodeAt(0)
    let mask = literals.get(code)
    if (mask === undefined) literals.set(code, (mask = new Int32Array(wordCount)))
    setBit(mask, state)
  }
  const none = new Int32Array(wordCount)
  const ofLiterals = (code: number) => literals.get(code) ?? none
  if (others.length === 0) {
    const ofAscii = Array.from({ length: asciiCount }, (_, code) => ofLiterals(code))
    return { ofAscii, ofOther: ofLiterals, masksMax: literals.size + 1 }
  }
  const ofAscii = Array.from({ length: asciiCount }, (): Int32Array | null => null)
  const known = new Map<number, Int32Array>()
  let stored = 0
  const ofOther = (code: number): Int32Array => {
    const cached = known.get(code)
    if (cached !== undefined) return cached
    const mask = Int32Array.from(ofLiterals(code))
    const character = String.fromCharCode(code)
    for (const { token, state } of others) if (takes(token, character)) setBit(mask, state)
    if (stored++ < masksMax) {
      if (code < asciiCount) ofAscii[code] = mask
      else known.set(code, mask)
    }
    return mask
  }
  // Counts one mask for the token of each set, which stays in memory and is no longer than the set's text.
  return { ofAscii, ofOther, masksMax: literals.size + 1 + masksMax + others.length }
}

interface CharacterMasks {
  /** By code; null for a mask that is not stored. */
  readonly ofAscii: readonly (Int32Array | null)[]
  readonly ofOther: (code: number) => Int32Array
  /** The most masks that are stored at the same time. */
  readonly masksMax: number
}

function takes(token: Token, character: string): boolean {
  return token.kind !== 'set' || isInSet(token.ranges, character) !== token.negated
}

function isInSet(ranges: readonly (readonly [string, string])[], character: string): boolean {
  return ranges.some(([from, to]) => from <= character && character <= to)
}

function setBit(mask: Int32Array, bit: number): void {
  const word = Math.floor(bit / wordBits)
  mask[word] = (mask[word] ?? 0) | (1 << (bit % wordBits))
}
