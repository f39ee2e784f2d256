import { usdFromNano } from '../../spending/index.ts'
import type { CacheUse } from '../../spending/index.ts'
import type { PrefixBreak } from '../formats/prompt-prefix.ts'
import { billedUsage } from '../formats/usage.ts'
import type { TokenUsage, UsageRule } from '../formats/usage.ts'

/** How the provider caches the prompt of a call. */
export interface CachedCall {
  /** True if a mark of the call asks for an hour. */
  readonly isForAnHour: boolean
  /** Why the provider's cache of the conversation's previous prompt does not apply; null if it applies. */
  readonly broken: PrefixBreak | null
}

/** How the token usage that the provider reports for one call is billed. */
export interface UsageReading {
  readonly billed: (usage: TokenUsage) => TokenUsage
  readonly cacheBreak: PrefixBreak | null
}

/** Returns how the usage of a call is billed, given the provider's rule and the cache of the prompt. Pure. */
export function usageReading(rule: UsageRule, cache?: CachedCall): UsageReading {
  return {
    cacheBreak: cache?.broken ?? null,
    billed: (usage) => {
      const billed = billedUsage(usage, rule)
      // Some reports do not separate lifetimes. All marks of the mesh have the same; among a client's own marks the
      // longest counts.
      const isSeparate = (billed.cacheWriteLongTokens ?? 0) > 0
      if (cache?.isForAnHour !== true || billed.cacheWriteTokens === undefined || isSeparate) return billed
      return { ...billed, cacheWriteLongTokens: billed.cacheWriteTokens }
    },
  }
}

/** Returns the fields about the provider's cache for the event of a model call. Pure. */
export function cacheFields(cache: CacheUse | undefined, broken: PrefixBreak | null) {
  return {
    ...(cache === undefined
      ? {}
      : {
          cached_tokens: cache.readTokens,
          cache_write_tokens: cache.writtenTokens,
          cache_saved_usd: usdFromNano(cache.savedNano),
        }),
    ...(broken === null ? {} : { cache_break: broken }),
  }
}
