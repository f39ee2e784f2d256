import { bookable, bookedMax, isWithoutCache } from '../../spending/index.ts'
import type { CacheUse } from '../../spending/index.ts'
import type { TokenUsage } from '../formats/usage.ts'
import type { Price } from './model-prices.ts'

/**
 * Returns the tokens and costs of the provider's cache for one call, by the price of the model; null if the cache was
 * not used. Pure.
 */
export function cacheUseOf(price: Pick<Price, 'costNano'>, usage: TokenUsage): CacheUse | null {
  const promptTokens = bookable(usage.promptTokens)
  const readTokens = Math.min(bookable(usage.cachedTokens), promptTokens)
  const writtenTokens = Math.min(bookable(usage.cacheWriteTokens ?? 0), promptTokens - readTokens)
  const use = { readTokens, writtenTokens }
  if (isWithoutCache({ ...use, readNano: 0, writtenNano: 0, savedNano: 0 })) return null
  const { statedUsd: _, cacheWriteLongTokens: longTokens = 0, ...listed } = usage
  /** Costs come from the price list, because a cost stated by the provider applies to the real call only. */
  const cost = (usage: Partial<TokenUsage>) =>
    price.costNano({ ...listed, promptTokens, cachedTokens: 0, cacheWriteTokens: 0, ...usage })
  const read = { cachedTokens: readTokens }
  const written = {
    cacheWriteTokens: writtenTokens,
    cacheWriteLongTokens: Math.min(longTokens, writtenTokens),
  }
  const real = cost({ ...read, ...written })
  // The total of prompt tokens stays unchanged, because tiered prices depend on it.
  const input = cost({ completionTokens: 0 }) - cost({ completionTokens: 0, promptTokens: 0 })
  const fullNano = promptTokens === 0 ? 0 : input / promptTokens
  return {
    ...use,
    readNano: bookable(Math.round(readTokens * fullNano - (cost(written) - real))),
    writtenNano: bookable(Math.round(writtenTokens * fullNano - (cost(read) - real))),
    savedNano: within(cost({}) - real),
  }
}

function within(nano: number): number {
  return Number.isNaN(nano) ? 0 : Math.min(bookedMax, Math.max(-bookedMax, Math.round(nano)))
}
