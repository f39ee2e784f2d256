import type { JsonObject } from '@flotilla/protocol/json-value'
import { billedUsage, countIn, membersOf, usageFrom } from '../usage.ts'
import type { TokenUsage, UsageRule } from '../usage.ts'

/** Returns the usage of the Responses API; null for an implausible usage. Pure. */
export function responseUsageFrom(value: unknown): TokenUsage | null {
  const usage = membersOf(value)
  // The output of this API includes reasoning, so its details are not read: they would be counted twice.
  return usageFrom({ ...usage, prompt_tokens_details: usage['input_tokens_details'] })
}

/** Converts the usage of a chat completion to the Responses API; null if it is missing or implausible. Pure. */
export function responseUsage(value: unknown, rule: UsageRule): JsonObject | null {
  const reported = usageFrom(value)
  if (reported === null) return null
  const usage = billedUsage(reported, rule)
  const ofAnswer = membersOf(membersOf(value)['completion_tokens_details'])
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: countIn(ofAnswer['reasoning_tokens']) ?? 0 },
    total_tokens: usage.promptTokens + usage.completionTokens,
    ...(usage.statedUsd === undefined ? {} : { cost: usage.statedUsd }),
  }
}
