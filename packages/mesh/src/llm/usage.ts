import * as z from 'zod'

/** What a provider says a call has used. */
export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Part of the prompt that the provider had in its cache. */
  readonly cachedTokens: number
  /** Part of the prompt that the provider put into its cache, which some charge dearer. */
  readonly cacheWriteTokens?: number
  /** Part of those that stay longer there, which is dearer still. */
  readonly cacheWriteLongTokens?: number
}

const count = z.number().int().min(0).max(1_000_000_000)

const usageReplySchema = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  prompt_tokens_details: z
    .looseObject({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() })
    .nullish(),
})

/** Null for anything that is no believable usage. Pure. */
export function usageFrom(value: unknown): TokenUsage | null {
  const parsed = usageReplySchema.safeParse(value)
  if (!parsed.success) return null
  const { cached_tokens: cached, cache_write_tokens: written } = parsed.data.prompt_tokens_details ?? {}
  return {
    promptTokens: parsed.data.prompt_tokens,
    completionTokens: parsed.data.completion_tokens ?? 0,
    cachedTokens: cached ?? 0,
    ...(written ? { cacheWriteTokens: written } : {}),
  }
}
