const dayMs = 24 * 3600 * 1000

/** Weights of likeness by meaning and by words. */
export const hybridWeights = { vector: 0.7, keyword: 0.3 } as const

/** A fact that nobody uses counts for half after so many days; each use makes it last longer. */
const halfLifeDays = 60
const decayFloor = 0.5
const reinforcementPerUse = 0.1
const reinforcementMax = 1.5

/** What the two searches say of one fact; null where they say nothing. */
export interface Likeness {
  readonly factId: number
  /** Cosine of the angle to the question, -1 to 1. */
  readonly cosine: number | null
  /** Weight of the words that are in both, above 0. */
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
 * Pure. Likeness of every candidate, 0 to 1: 0.7 by meaning and 0.3 by words. `background` is the cosine that any fact
 * has to the question, which differs from model to model: it counts as nothing. A fact without a vector is judged by its
 * words alone; when the question has none, all are.
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

/** Pure. 1 when fresh, towards the floor when unused; the more often used, the slower. */
export function decay(use: FactUse, now: number): number {
  const days = Math.max(0, now - use.lastUsedAt) / dayMs
  return Math.max(decayFloor, 0.5 ** (days / (halfLifeDays * (1 + use.useCount))))
}

/** Pure. 1 for a fact that was never found, slowly more with each use. */
export function reinforcement(use: FactUse): number {
  return Math.min(reinforcementMax, 1 + reinforcementPerUse * Math.log1p(use.useCount))
}

/** Pure. Likeness × decay × reinforcement, best first; equal ones in the order of their ids. */
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
