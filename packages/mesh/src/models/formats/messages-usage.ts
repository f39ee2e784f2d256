import * as z from 'zod'
import { told, toldExtras } from './usage.ts'
import type { TokenUsage } from './usage.ts'

const count = z.number().int().min(0).max(1_000_000_000)
const extra = count.nullish().catch(null)

const usageSchema = z.looseObject({
  input_tokens: count,
  output_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  cache_creation: z
    .looseObject({ ephemeral_5m_input_tokens: extra, ephemeral_1h_input_tokens: extra })
    .nullish()
    .catch(null),
  ...toldExtras,
})

/**
 * Here the prompt is told without what the cache held or took, and the output with what was thought. Null for anything
 * that is no believable usage. Pure.
 */
export function messagesUsageFrom(value: unknown): TokenUsage | null {
  const parsed = usageSchema.safeParse(value)
  if (!parsed.success) return null
  const usage = parsed.data
  const cachedTokens = usage.cache_read_input_tokens ?? 0
  const long = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  const written = (usage.cache_creation?.ephemeral_5m_input_tokens ?? 0) + long
  const cacheWriteTokens = Math.max(usage.cache_creation_input_tokens ?? 0, written)
  // Nobody was ever asked nothing; who tells so has not counted.
  if (usage.input_tokens + cachedTokens + cacheWriteTokens + (usage.output_tokens ?? 0) === 0) return null
  return {
    promptTokens: usage.input_tokens + cachedTokens + cacheWriteTokens,
    completionTokens: usage.output_tokens ?? 0,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: long,
    ...told(usage),
  }
}
