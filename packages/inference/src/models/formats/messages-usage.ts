import { countIn, countOrNone, membersOf, told } from './usage.ts'
import type { TokenUsage } from './usage.ts'

/**
 * Returns the usage of the Messages API, which reports cached prompt tokens separately and includes thinking in the
 * output. Null for an implausible usage. Pure.
 */
export function messagesUsageFrom(value: unknown): TokenUsage | null {
  const usage = membersOf(value)
  const read = countIn(usage['input_tokens'])
  const completionTokens = countOrNone(usage['output_tokens'])
  const cachedTokens = countOrNone(usage['cache_read_input_tokens'])
  const created = countOrNone(usage['cache_creation_input_tokens'])
  if (read === null || completionTokens === null || cachedTokens === null || created === null) return null
  const creation = membersOf(usage['cache_creation'])
  const cacheWriteLongTokens = countIn(creation['ephemeral_1h_input_tokens']) ?? 0
  const written = (countIn(creation['ephemeral_5m_input_tokens']) ?? 0) + cacheWriteLongTokens
  const cacheWriteTokens = Math.max(created, written)
  const promptTokens = read + cachedTokens + cacheWriteTokens
  // A call always has tokens: a provider that reports zero has not counted.
  if (promptTokens + completionTokens === 0) return null
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens,
    ...told(usage),
  }
}
