import { billedUsage, usageFrom } from '../usage.ts'
import type { UsageRule } from '../usage.ts'

/**
 * Converts a usage to the Messages API, where the prompt excludes cached tokens (read or written), and the output
 * includes all billed tokens. Pure.
 */
export function messagesUsage(value: unknown, rule: UsageRule): Record<string, number> {
  const reported = usageFrom(value)
  if (reported === null) return { input_tokens: 0, output_tokens: 0 }
  const usage = billedUsage(reported, rule)
  const written = usage.cacheWriteTokens ?? 0
  return {
    input_tokens: Math.max(0, usage.promptTokens - usage.cachedTokens - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    ...(usage.statedUsd === undefined ? {} : { cost: usage.statedUsd }),
  }
}
