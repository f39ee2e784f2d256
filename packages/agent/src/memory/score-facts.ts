const dayMs = 24 * 3600 * 1000

/** Weights of similarity by meaning and by words. */
export const hybridWeights = { vector: 0.7, keyword: 0.3 } as const

/** An unused fact counts half after this many days; each use extends the time. */
const halfLifeDays = 60
const decayFloor = 0.5
const reinforcementPerUse = 0.1
const reinforcementMax = 1.5

/** The scores of one fact in the two searches; null if a search did not find it. */
export interface Likeness {
  readonly factId: number
  /** Cosine similarity to the question, -1 to 1. */
  readonly cosine: number | null
  /** Weight of the words that question and fact have in common, above 0. */
  readonly words: number | null
}

export interface FactUse {
  readonly lastUsedAt: number
  readonly useCount: number
}

export interface ScoredFact {
  readonly factId: number
  readonly score: number
}

/**
 * Pure. Similarity of every candidate, 0 to 1: 0.7 by meaning and 0.3 by words. `background` is the cosine of
 * an arbitrary fact to the question, which differs between models and counts as zero. A fact without a vector
 * is judged by its words only; if the question has no vector, all are.
 */
export function hybridLikeness(candidates: readonly Likeness[], background = 0): readonly ScoredFact[] {
  const mostWords = Math.max(0, ...candidates.map(({ words }) => words ?? 0))
  return candidates.map(({ factId, cosine, words }) => {
    const keyword = words === null || mostWords === 0 ? 0 : words / mostWords
    if (cosine === null) return { factId, score: keyword }
    const vector = background < 1 ? Math.min(1, Math.max(0, (cosine - background) / (1 - background))) : 0
    return { factId, score: hybridWeights.vector * vector + hybridWeights.keyword * keyword }
  })
}

/** Pure. 1 when fresh, falling to the floor when unused; slower the more often it was used. */
export function decay(use: FactUse, now: number): number {
  const days = Math.max(0, now - use.lastUsedAt) / dayMs
  return Math.max(decayFloor, 0.5 ** (days / (halfLifeDays * (1 + use.useCount))))
}

/** Pure. 1 for a fact that was never found, rising slowly with each use. */
export function reinforcement(use: FactUse): number {
  return Math.min(reinforcementMax, 1 + reinforcementPerUse * Math.log1p(use.useCount))
}

/** Pure. Similarity × decay × reinforcement, best first; equal ones in the order of their ids. */
export function rankFacts(
  candidates: readonly (Likeness & FactUse)[],
  { now, background }: { readonly now: number; readonly background?: number },
): readonly ScoredFact[] {
  const likeness = hybridLikeness(candidates, background)
  return candidates
    .map((candidate, index) => ({
      factId: candidate.factId,
      score: likeness[index]!.score * decay(candidate, now) * reinforcement(candidate), // one for each
    }))
    .toSorted((a, b) => b.score - a.score || a.factId - b.factId)
}
