import { billedUsage, usageFrom } from '../usage.ts'
import type { UsageRule } from '../usage.ts'

/**
 * The usage in the format of messages, where the prompt excludes what the cache held or took, and the output is all
 * that is paid for. Pure.
 */
export function messagesUsage(value: unknown, rule: UsageRule): Record<string, number> {
  const told = usageFrom(value)
  if (told === null) return { input_tokens: 0, output_tokens: 0 }
  const usage = billedUsage(told, rule)
  const written = usage.cacheWriteTokens ?? 0
  return {
    input_tokens: Math.max(0, usage.promptTokens - usage.cachedTokens - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    ...(usage.toldUsd === undefined ? {} : { cost: usage.toldUsd }),
  }
}
