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

export interface PatternRun {
  readonly matches: boolean
  /** Word operations on states, at most `wordsPerCharacter` for each character of the text. */
  readonly steps: number
}

export interface PatternAutomaton {
  /** The number of 32-bit words for the states, which are one more than the pattern's characters without stars. */
  readonly wordsPerCharacter: number
  /** The most memory that its tables take, in bytes. */
  readonly bytesMax: number
  run(text: string): PatternRun
}

const slash = 47
const wordBits = 32
const asciiCount = 128
/** The maximum number of cached masks of other characters than ASCII, so that texts do not fill the memory. */
const masksMax = 64
/** The memory of a table, or of one row of a table, in addition to its words, in bytes. */
const tableBytes = 128
const pointerBytes = 8

/** State n means that n tokens of one character each were matched; a star is a loop on the state before it. */
export function compileTokens(tokens: readonly Token[]): PatternAutomaton {
  const takers = tokens.filter((token) => token.kind !== 'many' && token.kind !== 'segments')
  const wordCount = Math.floor(takers.length / wordBits) + 1
  const loops = loopsOf(tokens, wordCount)
  const { ofAscii, ofOther, masksMax: rows } = createMasks(takers, wordCount)
  const segmentWords = [...loops.segments.keys()].filter((word) => loops.segments[word] !== 0)
  const lastWord = Math.floor(takers.length / wordBits)
  const lastBit = 1 << (takers.length % wordBits)

  return {
    wordsPerCharacter: wordCount,
    bytesMax:
      (rows + 3) * (wordCount * Int32Array.BYTES_PER_ELEMENT + tableBytes) + asciiCount * pointerBytes,
    run(text) {
      const { across, either, segments } = loops
      const states = new Int32Array(wordCount)
      /** Reached states that have a `**` with its slash: after every later slash, each is reached again. */
      const armed = new Int32Array(wordCount)
      states[0] = 1
      armed[0] = segments[0]! & 1
      let anyArmed = armed[0]
      let steps = 0
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        const mask = code < asciiCount ? ofAscii[code]! : ofOther(code)
        const isSlash = code === slash
        const staying = isSlash ? across : either
        let carry = 0
        let alive = 0
        for (let word = 0; word < wordCount; word++) {
          const state = states[word]!
          const taken = state & mask[word]!
          const reached = (taken << 1) | carry | (state & staying[word]!)
          carry = taken >>> (wordBits - 1)
          states[word] = reached
          alive |= reached
        }
        // A `**` with its slash follows a slash, so its state is reached at slashes alone.
        if (isSlash) {
          for (let index = 0; index < segmentWords.length; index++) {
            const word = segmentWords[index]!
            const reached = states[word]!
            const waiting = armed[word]! | (reached & segments[word]!)
            armed[word] = waiting
            states[word] = reached | waiting
            anyArmed |= waiting
          }
        }
        steps += wordCount
        if ((alive | anyArmed) === 0) return { matches: false, steps }
      }
      return { matches: ((states[lastWord] ?? 0) & lastBit) !== 0, steps }
    },
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

/** For each character, the states that it advances: a list for ASCII, since a look into a map costs three words of states. */
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
  const withOthers = (code: number): Int32Array => {
    const mask = Int32Array.from(literals.get(code) ?? none)
    const character = String.fromCharCode(code)
    for (const { token, state } of others) if (takes(token, character)) setBit(mask, state)
    return mask
  }
  const ofCode = others.length === 0 ? (code: number) => literals.get(code) ?? none : withOthers
  const ofAscii = Array.from({ length: asciiCount }, (_, code) => ofCode(code))
  const known = new Map<number, Int32Array>()
  return {
    ofAscii,
    ofOther(code) {
      const cached = known.get(code)
      if (cached !== undefined) return cached
      const mask = ofCode(code)
      if (known.size < masksMax) known.set(code, mask)
      return mask
    },
    // The token of a set stays in memory and is no longer than the set's text, so it counts as a mask.
    masksMax: literals.size + 1 + masksMax + (others.length === 0 ? 0 : asciiCount + others.length),
  }
}

interface CharacterMasks {
  readonly ofAscii: readonly Int32Array[]
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
