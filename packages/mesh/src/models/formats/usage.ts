import * as z from 'zod'

/** What a provider says a call has used. */
export interface TokenUsage {
  readonly promptTokens: number
  /** With what was thought, as far as the numbers tell it for any provider. */
  readonly completionTokens: number
  /** Part of the prompt that the provider had in its cache. */
  readonly cachedTokens: number
  /** Part of the prompt that the provider put into its cache, which some charge dearer. */
  readonly cacheWriteTokens?: number
  /** Part of those that stay longer there, which is dearer still. */
  readonly cacheWriteLongTokens?: number
  /** The answer and what was thought, if the latter stands beside the answer and is no part of it. */
  readonly besideTokens?: number
  /** The cost as the provider tells it, where it does, US dollars. */
  readonly toldUsd?: number
  /** How often tools ran at the provider, by name. */
  readonly serverToolCalls?: Readonly<Record<string, number>>
}

/** How one provider writes its usage down, where the general way would price it too low. */
export interface UsageRule {
  /** Reasoning tokens stand beside those of the answer. */
  readonly reasoningBeside?: boolean
  /** What it tells as the cost is the whole of it, in US dollars. */
  readonly tellsCost?: boolean
}

const count = z.number().int().min(0).max(1_000_000_000)
/** What is told beside the counts that money hangs on must not make them unbelievable. */
const extra = count.nullish().catch(null)
const usd = z.number().min(0).max(1_000_000)

export const toldExtras = {
  /** OpenRouter's is a number, Perplexity's has the sum among its parts. */
  cost: z
    .union([usd, z.looseObject({ total_cost: usd })])
    .nullish()
    .catch(null),
  /** xAI's, in ten-billionths of a dollar. */
  cost_in_usd_ticks: z.number().min(0).max(1e16).nullish().catch(null),
  server_tool_use: z.record(z.string().max(64), z.unknown()).nullish().catch(null),
}
type ToldExtras = z.infer<z.ZodObject<typeof toldExtras>>

const ticksPerUsd = 1e10

const usageReplySchema = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  total_tokens: extra,
  /** Perplexity's stand here, all others' among the details. */
  reasoning_tokens: extra,
  /** Moonshot's stand here, DeepSeek's below, all others' among the details. */
  cached_tokens: extra,
  prompt_cache_hit_tokens: extra,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: extra, cache_write_tokens: extra })
    .nullish()
    .catch(null),
  completion_tokens_details: z.looseObject({ reasoning_tokens: extra }).nullish().catch(null),
  ...toldExtras,
})

/**
 * The output is the greatest that the fields allow: what is told as such, what the total has beyond the prompt, and, for
 * reasoning that is more than the whole answer and so cannot be part of it, both together. Null for anything that is no
 * believable usage. Pure.
 */
export function usageFrom(value: unknown): TokenUsage | null {
  const parsed = usageReplySchema.safeParse(value)
  if (!parsed.success) return null
  const usage = parsed.data
  // Nobody was ever asked nothing; who tells so has not counted.
  if (usage.prompt_tokens + (usage.completion_tokens ?? 0) === 0) return null
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details ?? {}
  const spoken = usage.completion_tokens ?? 0
  const thought = Math.max(
    usage.completion_tokens_details?.reasoning_tokens ?? 0,
    usage.reasoning_tokens ?? 0,
  )
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: Math.max(
      spoken,
      (usage.total_tokens ?? 0) - usage.prompt_tokens,
      thought > spoken ? spoken + thought : 0,
    ),
    cachedTokens: cached ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0,
    ...(written ? { cacheWriteTokens: written } : {}),
    ...(thought > 0 ? { besideTokens: spoken + thought } : {}),
    ...told(usage),
  }
}

/** Pure. */
export function told(extras: ToldExtras): Pick<TokenUsage, 'toldUsd' | 'serverToolCalls'> {
  const { cost, cost_in_usd_ticks: ticks, server_tool_use: calls } = extras
  const toldUsd =
    typeof ticks === 'number'
      ? ticks / ticksPerUsd
      : typeof cost === 'object' && cost !== null
        ? cost.total_cost
        : cost
  const counts = Object.entries(calls ?? {}).filter(
    (entry): entry is [string, number] => count.safeParse(entry[1]).success,
  )
  return {
    ...(typeof toldUsd === 'number' && toldUsd > 0 ? { toldUsd } : {}),
    ...(counts.length > 0 ? { serverToolCalls: Object.fromEntries(counts) } : {}),
  }
}

/** What is paid for, by the provider's own way of telling. Pure. */
export function billedUsage(usage: TokenUsage, rule: UsageRule): TokenUsage {
  const { besideTokens, toldUsd, ...rest } = usage
  return {
    ...rest,
    completionTokens: Math.max(
      usage.completionTokens,
      rule.reasoningBeside === true ? (besideTokens ?? 0) : 0,
    ),
    ...(toldUsd !== undefined && rule.tellsCost === true ? { toldUsd } : {}),
  }
}
