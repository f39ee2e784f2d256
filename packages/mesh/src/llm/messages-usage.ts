import * as z from 'zod'
import type { TokenUsage } from './usage.ts'

const count = z.number().int().min(0).max(1_000_000_000)

const usageSchema = z.looseObject({
  input_tokens: count,
  output_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  cache_creation: z.looseObject({ ephemeral_1h_input_tokens: count.nullish() }).nullish(),
})

/** Here the prompt is told without what the cache held or took. Null for anything that is no believable usage. Pure. */
export function messagesUsageFrom(value: unknown): TokenUsage | null {
  const parsed = usageSchema.safeParse(value)
  if (!parsed.success) return null
  const usage = parsed.data
  const cachedTokens = usage.cache_read_input_tokens ?? 0
  const cacheWriteTokens = usage.cache_creation_input_tokens ?? 0
  return {
    promptTokens: usage.input_tokens + cachedTokens + cacheWriteTokens,
    completionTokens: usage.output_tokens ?? 0,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: Math.min(usage.cache_creation?.ephemeral_1h_input_tokens ?? 0, cacheWriteTokens),
  }
}
