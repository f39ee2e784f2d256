/** Advances the states of a compiled pattern over a text. Bit n of the words is the state after n tokens. Pure. */

export interface PatternTables {
  readonly wordCount: number
  /** For each kind of star, the states at which it loops: over a slash, and over any other character. */
  readonly across: Int32Array
  readonly either: Int32Array
  /** The states that have a `**` with its slash. */
  readonly segments: Int32Array
  /** The states that a character advances, by code; null for a mask that is not stored. */
  readonly ofAscii: readonly (Int32Array | null)[]
  readonly ofOther: (code: number) => Int32Array
  readonly last: { readonly word: number; readonly bit: number }
}

export interface PatternRun {
  readonly matches: boolean
  /** Word operations on states, at most `wordCount` for each character of the text. */
  readonly steps: number
}

export const asciiCount = 128
/** The number of words that every pattern of a permission list fits into; fewer are filled up. */
export const wordsMin = 7
const slash = 47

/**
 * Runs a pattern of seven words. They stay in registers of the processor, which makes it three times as fast as
 * `runManyWords`.
 */
export function runSevenWords(text: string, tables: PatternTables): PatternRun {
  const { ofAscii, ofOther, last } = tables
  const [across0, across1, across2, across3, across4, across5, across6] = sevenOf(tables.across)
  const [either0, either1, either2, either3, either4, either5, either6] = sevenOf(tables.either)
  const [segments0, segments1, segments2, segments3, segments4, segments5, segments6] = sevenOf(
    tables.segments,
  )
  let [state0, state1, state2, state3, state4, state5, state6] = [1, 0, 0, 0, 0, 0, 0]
  // Reached states that have a `**` with its slash: after every later slash, each is reached again.
  let [armed0, armed1, armed2, armed3, armed4, armed5, armed6] = [segments0 & 1, 0, 0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const mask = (code < asciiCount ? ofAscii[code] : null) ?? ofOther(code)
    const taken0 = state0 & mask[0]!
    const taken1 = state1 & mask[1]!
    const taken2 = state2 & mask[2]!
    const taken3 = state3 & mask[3]!
    const taken4 = state4 & mask[4]!
    const taken5 = state5 & mask[5]!
    const taken6 = state6 & mask[6]!
    if (code === slash) {
      state0 = (taken0 << 1) | (state0 & across0)
      state1 = (taken1 << 1) | (taken0 >>> 31) | (state1 & across1)
      state2 = (taken2 << 1) | (taken1 >>> 31) | (state2 & across2)
      state3 = (taken3 << 1) | (taken2 >>> 31) | (state3 & across3)
      state4 = (taken4 << 1) | (taken3 >>> 31) | (state4 & across4)
      state5 = (taken5 << 1) | (taken4 >>> 31) | (state5 & across5)
      state6 = (taken6 << 1) | (taken5 >>> 31) | (state6 & across6)
      // A `**` with its slash follows a slash, so its state is reached at slashes alone.
      state0 |= armed0 |= state0 & segments0
      state1 |= armed1 |= state1 & segments1
      state2 |= armed2 |= state2 & segments2
      state3 |= armed3 |= state3 & segments3
      state4 |= armed4 |= state4 & segments4
      state5 |= armed5 |= state5 & segments5
      state6 |= armed6 |= state6 & segments6
    } else {
      state0 = (taken0 << 1) | (state0 & either0)
      state1 = (taken1 << 1) | (taken0 >>> 31) | (state1 & either1)
      state2 = (taken2 << 1) | (taken1 >>> 31) | (state2 & either2)
      state3 = (taken3 << 1) | (taken2 >>> 31) | (state3 & either3)
      state4 = (taken4 << 1) | (taken3 >>> 31) | (state4 & either4)
      state5 = (taken5 << 1) | (taken4 >>> 31) | (state5 & either5)
      state6 = (taken6 << 1) | (taken5 >>> 31) | (state6 & either6)
    }
    const alive = state0 | state1 | state2 | state3 | state4 | state5 | state6
    const waiting = armed0 | armed1 | armed2 | armed3 | armed4 | armed5 | armed6
    if ((alive | waiting) === 0) return { matches: false, steps: (at + 1) * wordsMin }
  }
  const states = [state0, state1, state2, state3, state4, state5, state6]
  return { matches: ((states[last.word] ?? 0) & last.bit) !== 0, steps: text.length * wordsMin }
}

const sevenOf = (words: Int32Array) =>
  [words[0]!, words[1]!, words[2]!, words[3]!, words[4]!, words[5]!, words[6]!] as const

/** Runs a pattern of any number of words, such as the path of a rule. */
export function runManyWords(text: string, tables: PatternTables): PatternRun {
  const { wordCount, across, either, segments, ofAscii, ofOther, last } = tables
  const states = new Int32Array(wordCount)
  const armed = new Int32Array(wordCount)
  states[0] = 1
  armed[0] = segments[0]! & 1
  let anyArmed = armed[0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const mask = (code < asciiCount ? ofAscii[code] : null) ?? ofOther(code)
    const isSlash = code === slash
    const staying = isSlash ? across : either
    let carry = 0
    let alive = 0
    for (let word = 0; word < wordCount; word++) {
      const state = states[word]!
      const taken = state & mask[word]!
      let reached = (taken << 1) | carry | (state & staying[word]!)
      carry = taken >>> 31
      if (isSlash) {
        const waiting = armed[word]! | (reached & segments[word]!)
        armed[word] = waiting
        anyArmed |= waiting
        reached |= waiting
      }
      states[word] = reached
      alive |= reached
    }
    if ((alive | anyArmed) === 0) return { matches: false, steps: (at + 1) * wordCount }
  }
  return { matches: ((states[last.word] ?? 0) & last.bit) !== 0, steps: text.length * wordCount }
}
