import { createHash } from 'node:crypto'
import { badRequest } from '../formats/json-body.ts'
import { textInputs } from '../formats/embeddings-parameters.ts'
import { embeddingsReply } from '../formats/embeddings-reply.ts'
import type { LlmProvider } from '../llm-provider.ts'

/** The one model of this provider. */
const hashedWordsModel = 'hashed-words'

const dimensionsDefault = 256
const dimensionsMax = 4096

/**
 * Embeddings without a model: the hash of each word and of each pair of neighbors selects a position in the vector,
 * so texts that share words are close; their meaning is unknown. Free, offline and deterministic; for demonstrations,
 * tests, and a search by words without a model.
 */
export function createHashedWordsProvider(): LlmProvider {
  return {
    forms: new Set(['embeddings']),
    async complete({ model, parameters }, { signal }) {
      signal.throwIfAborted()
      if (model !== hashedWordsModel) throw badRequest(`the model here is ${hashedWordsModel}`)
      const texts = textInputs(parameters['input'])
      const dimensions = parameters['dimensions'] ?? dimensionsDefault
      if (typeof dimensions !== 'number' || dimensions > dimensionsMax) {
        throw badRequest(`dimensions: at most ${dimensionsMax}`)
      }
      return embeddingsReply({
        vectors: texts.map((text) => hashedWords(text, dimensions)),
        model,
        tokens: texts.reduce((sum, text) => sum + splitWords(text).length, 0),
        parameters,
      })
    },
    modelNames: async () => [hashedWordsModel],
    close: async () => {},
  }
}

/** Returns a vector of length one, or of zeros for a text without words. Pure. */
function hashedWords(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0)
  const words = splitWords(text)
  for (const [index, word] of words.entries()) {
    add(vector, word, 1)
    const next = words[index + 1]
    if (next !== undefined) add(vector, `${word} ${next}`, 0.5)
  }
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((value) => value / length)
}

/** The sign keeps words with the same position from always adding up. */
function add(vector: number[], feature: string, weight: number): void {
  const hash = createHash('sha256').update(feature).digest()
  const place = hash.readUInt32LE(0) % vector.length
  vector[place] = (vector[place] ?? 0) + (hash.readUInt8(4) % 2 === 0 ? weight : -weight)
}

function splitWords(text: string): readonly string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}
