/** Tokens and costs of the provider's prompt cache for one or more calls. */
export interface CacheUse {
  /** Prompt tokens that the provider read from its cache. */
  readonly readTokens: number
  /** Prompt tokens that the provider wrote to its cache. */
  readonly writtenTokens: number
  /** The cost of the tokens read and of the tokens written, nano-dollars. */
  readonly readNano: number
  readonly writtenNano: number
  /**
   * The cost of the same calls without a cache, minus their cost; negative if the reads did not pay for the
   * writes.
   */
  readonly savedNano: number
}

export const noCacheUse: CacheUse = {
  readTokens: 0,
  writtenTokens: 0,
  readNano: 0,
  writtenNano: 0,
  savedNano: 0,
}

/** Returns the sum of two uses. Pure. */
export function addCacheUse(one: CacheUse, other: CacheUse): CacheUse {
  return {
    readTokens: one.readTokens + other.readTokens,
    writtenTokens: one.writtenTokens + other.writtenTokens,
    readNano: one.readNano + other.readNano,
    writtenNano: one.writtenNano + other.writtenNano,
    savedNano: one.savedNano + other.savedNano,
  }
}

/** True if the provider neither read from its cache nor wrote to it. Pure. */
export function isWithoutCache({ readTokens, writtenTokens }: CacheUse): boolean {
  return readTokens === 0 && writtenTokens === 0
}
