import { usdFromNano } from '../../spending/index.ts'
import type { CacheUse } from '../../spending/index.ts'
import type { PrefixBreak } from '../formats/prompt-prefix.ts'
import { billedUsage } from '../formats/usage.ts'
import type { TokenUsage, UsageRule } from '../formats/usage.ts'

/** How the prompt of a call is cached. */
export interface CachedCall {
  /** True if the marks of the call ask for an hour. */
  readonly isForAnHour: boolean
  /** Why the previous prompt of the conversation is not found; null if it is. */
  readonly broken: PrefixBreak | null
}

/** How the provider's usage of one call is read. */
export interface UsageReading {
  readonly billed: (usage: TokenUsage) => TokenUsage
  readonly cacheBreak: PrefixBreak | null
}

/** Pure. */
export function usageReading(rule: UsageRule, cache?: CachedCall): UsageReading {
  return {
    cacheBreak: cache?.broken ?? null,
    billed: (usage) => {
      const billed = billedUsage(usage, rule)
      // Some reports do not separate lifetimes, but all marks of a call have the same.
      if (cache?.isForAnHour !== true || billed.cacheWriteTokens === undefined) return billed
      return { ...billed, cacheWriteLongTokens: billed.cacheWriteTokens }
    },
  }
}

/** Returns the members of the event of a call about the provider's cache. Pure. */
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
