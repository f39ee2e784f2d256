/**
 * How long answers of a model to an agent have been, so that no more is set aside for the next than it may need. In
 * memory: the first answers after a start are bounded by the model alone.
 */
export interface AnswerBounds {
  /** Tokens that the next answer may have; null while too few were seen, or where the model's own bound is lower. */
  boundFor(agentId: string, model: string, modelMax: number): number | null
  /** An answer had so many tokens, thinking included. */
  saw(agentId: string, model: string, tokens: number): void
}

/** Answers remembered for an agent and model: the longest of the last hundred is more than their 99th percentile. */
const rememberedMax = 100
/** With fewer, nothing is known. */
const seenMin = 10
/** The next may be so much longer than the longest. An answer that was cut counts as that long, so the bound grows as much. */
const factor = 4
/** Smallest bound, tokens: a page and a half of text. */
const boundMin = 1024
/** Agents and models that are remembered; the oldest is forgotten. */
const pairsMax = 2000

export function createAnswerBounds(): AnswerBounds {
  const seen = new Map<string, number[]>()

  return {
    boundFor(agentId, model, modelMax) {
      const lengths = seen.get(keyOf(agentId, model)) ?? []
      if (lengths.length < seenMin) return null
      const bound = Math.max(boundMin, factor * Math.max(...lengths))
      return bound < modelMax ? bound : null
    },
    saw(agentId, model, tokens) {
      const key = keyOf(agentId, model)
      const lengths = seen.get(key) ?? []
      seen.delete(key)
      const oldest = seen.size >= pairsMax ? seen.keys().next().value : undefined
      if (oldest !== undefined) seen.delete(oldest)
      seen.set(key, lengths)
      lengths.push(tokens)
      if (lengths.length > rememberedMax) lengths.shift()
    },
  }
}

function keyOf(agentId: string, model: string): string {
  return `${agentId} ${model}`
}
