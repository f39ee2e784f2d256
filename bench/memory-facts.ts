/** A generator of numbers from 0 to 1 that gives the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    // Mulberry32, public domain.
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export interface MadeFact {
  readonly text: string
  readonly concepts: readonly number[]
  readonly number: string
}

export interface MadeQuestion {
  readonly kind: QuestionKind
  readonly text: string
  /** Index of the one fact that the question asks for. */
  readonly answer: number
}

export const questionKinds = ['same words', 'half other words', 'only other words', 'a number in it'] as const
export type QuestionKind = (typeof questionKinds)[number]

export interface MadeFacts {
  readonly facts: readonly MadeFact[]
  readonly questions: readonly MadeQuestion[]
  readonly embed: (text: string) => Float32Array
}

const concepts = 1500
const wordsPerConcept = 3
const conceptsPerFact = 6
const conceptsPerQuestion = 4
const dimensions = 256
/** Share of words for which the scripted embedding model knows a synonym. */
const knownShare = 0.85
const fillers = ['the', 'of', 'a', 'is', 'with', 'and', 'for', 'in'] as const

/**
 * Facts and questions from an invented vocabulary. Each concept has three words that are random and independent,
 * some concepts are far more frequent than others, and a question asks for one fact by four of its six concepts.
 */
export function makeFacts(count: number, perKind: number): MadeFacts {
  const random = seededRandom(7)
  const vocabulary = makeWords(random)
  const pickConcept = () => Math.floor(concepts * random() ** 2)
  const wordFor = (concept: number, form: number) => vocabulary[concept * wordsPerConcept + form] ?? ''
  const facts = Array.from({ length: count }, (_, index): MadeFact => {
    const chosen = new Set<number>()
    while (chosen.size < conceptsPerFact) chosen.add(pickConcept())
    const number = `${10_000 + index}`
    const words = [...chosen].flatMap((concept) => [
      fillers[Math.floor(random() * fillers.length)] ?? '',
      wordFor(concept, 0),
    ])
    return { text: `${words.join(' ')} (no. ${number})`, concepts: [...chosen], number }
  })
  const questions = questionKinds.flatMap((kind) =>
    Array.from({ length: perKind }, (): MadeQuestion => {
      const answer = Math.floor(random() * count)
      const { concepts: asked = [], number = '' } = facts[answer] ?? {}
      const words = asked
        .slice(0, conceptsPerQuestion)
        .map((concept, place) => wordFor(concept, formOf(kind, place, random)))
      if (kind === 'a number in it') return { kind, answer, text: `what is the ${words[0]} with ${number}` }
      return { kind, answer, text: `what is the ${words.join(' of the ')}` }
    }),
  )
  return { facts, questions, embed: makeEmbedding(vocabulary) }
}

function formOf(kind: QuestionKind, place: number, random: () => number): number {
  const other = 1 + Math.floor(random() * (wordsPerConcept - 1))
  if (kind === 'only other words' || kind === 'a number in it') return other
  return kind === 'half other words' && place % 2 === 0 ? other : 0
}

function makeWords(random: () => number): readonly string[] {
  const letters = { consonants: 'bcdfghjklmnprstvwz', vowels: 'aeiou' }
  const pick = (from: string) => from[Math.floor(random() * from.length)] ?? ''
  const words = new Set<string>()
  while (words.size < concepts * wordsPerConcept) {
    words.add(
      Array.from({ length: 3 }, () => pick(letters.consonants) + pick(letters.vowels)).join('') +
        pick(letters.consonants),
    )
  }
  return [...words]
}

/**
 * An embedding function: the mean of the words' vectors. A known word has the vector of its concept, another word
 * one of its own.
 */
function makeEmbedding(vocabulary: readonly string[]): (text: string) => Float32Array {
  const known = seededRandom(11)
  const seedOf = new Map(
    vocabulary.map((word, place) => {
      const isKnown = known() < knownShare
      return [word, isKnown ? Math.floor(place / wordsPerConcept) : concepts + place]
    }),
  )
  const directions = new Map<number, Float32Array>()
  const directionOf = (seed: number): Float32Array => {
    const found = directions.get(seed)
    if (found) return found
    const random = seededRandom(seed + 1000)
    const made = Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5)
    directions.set(seed, made)
    return made
  }
  return (text) => {
    const sum = new Float32Array(dimensions)
    for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
      const seed = seedOf.get(word)
      if (seed === undefined) continue
      directionOf(seed).forEach((value, place) => (sum[place] = (sum[place] ?? 0) + value))
    }
    const length = Math.hypot(...sum)
    return length === 0 ? sum : sum.map((value) => value / length)
  }
}
