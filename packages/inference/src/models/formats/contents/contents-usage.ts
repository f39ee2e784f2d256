import type { JsonObject } from '@flotilla/protocol/json-value'
import { billedUsage, countIn, membersOf, usageFrom } from '../usage.ts'
import type { TokenUsage, UsageRule } from '../usage.ts'

/** Returns the usage in Google's form, as the mesh writes it; null for an implausible usage. Pure. */
export function contentsUsageFrom(value: unknown): TokenUsage | null {
  const usage = membersOf(value)
  return usageFrom({
    ...usage,
    prompt_tokens_details: {
      cached_tokens: usage['cachedContentTokenCount'],
      cache_write_tokens: usage['cacheWriteTokenCount'],
    },
  })
}

/**
 * Converts the usage of a chat completion to Google's form; empty if it is missing or implausible. Google has no
 * counterpart for the last two members, on which the cost depends. Pure.
 */
export function contentsUsage(value: unknown, rule: UsageRule): JsonObject {
  const reported = usageFrom(value)
  if (reported === null) return {}
  const usage = billedUsage(reported, rule)
  const ofAnswer = membersOf(membersOf(value)['completion_tokens_details'])
  const thoughts = Math.min(countIn(ofAnswer['reasoning_tokens']) ?? 0, usage.completionTokens)
  return {
    promptTokenCount: usage.promptTokens,
    cachedContentTokenCount: usage.cachedTokens,
    candidatesTokenCount: usage.completionTokens - thoughts,
    thoughtsTokenCount: thoughts,
    totalTokenCount: usage.promptTokens + usage.completionTokens,
    ...(usage.cacheWriteTokens === undefined ? {} : { cacheWriteTokenCount: usage.cacheWriteTokens }),
    ...(usage.statedUsd === undefined ? {} : { cost: usage.statedUsd }),
  }
}
