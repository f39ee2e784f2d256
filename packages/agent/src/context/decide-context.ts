/** How much of its model's window a conversation uses. */
export interface ContextStanding {
  readonly tokens: number
  readonly windowTokens: number
  /** True if facts of this segment of the conversation were saved. */
  readonly flushed: boolean
  /** True if cutting old tool results would save enough to be worth a changed prompt. */
  readonly canClear: boolean
  /** True if a compaction could remove groups of messages. */
  readonly canCut: boolean
}

/**
 * `flush` saves facts and changes nothing else, `clear` cuts old tool results, which costs no call of a model,
 * `compact` replaces the oldest groups by a summary, `prune` shortens what is left when nothing more can be cut.
 */
export type ContextStep = 'none' | 'flush' | 'clear' | 'compact' | 'prune'

export const contextShares = { flush: 0.6, compact: 0.7, warn: 0.8, prune: 0.9 } as const

/** Pure. */
export function decideContext(contextFacts: ContextStanding): ContextStep {
  const { tokens, windowTokens, flushed, canClear, canCut } = contextFacts
  const share = tokens / windowTokens
  if (share >= contextShares.compact && canClear) return 'clear'
  if (share >= contextShares.compact && canCut) return 'compact'
  if (share >= contextShares.prune) return 'prune'
  return share >= contextShares.flush && !flushed ? 'flush' : 'none'
}
