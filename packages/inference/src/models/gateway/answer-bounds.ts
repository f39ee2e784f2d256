/**
 * Remembers the lengths of a model's answers to an agent, so that a reservation is not larger than necessary. In
 * memory: after a start, only the model limits the first answers.
 */
export interface AnswerBounds {
  /** The bound in tokens for the next answer; null after too few answers, or if the model's own bound is lower. */
  boundFor(agentId: string, model: string, modelMax: number): number | null
  /** Records the tokens of an answer, thinking included. */
  saw(agentId: string, model: string, tokens: number): void
}

/** Answers remembered per agent and model: the longest of a hundred exceeds their 99th percentile. */
const rememberedMax = 100
/** The fewest answers for which a bound is given. */
const seenMin = 10
/** The bound is this many times the longest answer. A cut answer counts with its length, so the bound grows. */
const factor = 4
/** The smallest bound, tokens: a page and a half of text. */
const boundMin = 1024
/** The most pairs of agent and model; the oldest pair is forgotten. */
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
