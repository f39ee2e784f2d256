import { isRecord } from './empty-answer.ts'

/** The usage of a call as its provider reports it. */
export interface TokenUsage {
  readonly promptTokens: number
  /** Output tokens, with reasoning tokens as far as the numbers show them for any provider. */
  readonly completionTokens: number
  /** Part of the prompt that the provider had in its cache. */
  readonly cachedTokens: number
  /** Prompt tokens that the provider wrote to its cache; some providers charge more for these tokens. */
  readonly cacheWriteTokens?: number
  /** The cache-written tokens with the longer lifetime, which cost even more than other cache-written tokens. */
  readonly cacheWriteLongTokens?: number
  /** Answer plus reasoning tokens, for providers that do not count reasoning as part of the answer. */
  readonly besideTokens?: number
  /** The cost that the provider reports, US dollars; omitted if it reports none. */
  readonly statedUsd?: number
  /** How often tools ran at the provider, by name. */
  readonly serverToolCalls?: Readonly<Record<string, number>>
}

/** How to read one provider's usage, if the general way would price it too low. */
export interface UsageRule {
  /** True if the provider reports reasoning tokens in addition to the answer tokens. */
  readonly reasoningBeside?: boolean
  /** True if the cost that the provider reports is the whole cost, in US dollars. */
  readonly tellsCost?: boolean
}

const countMax = 1_000_000_000
const usdMax = 1_000_000
const ticksMax = 1e16
const ticksPerUsd = 1e10
const toolNameMaxChars = 64

type Members = Readonly<Record<string, unknown>>

/** Returns a plausible token count, also as a string; null for anything else. Pure. */
export function countIn(reported: unknown): number | null {
  const value = typeof reported === 'string' && /^\d{1,15}$/.test(reported) ? Number(reported) : reported
  return Number.isSafeInteger(value) && isWithin(value, countMax) ? value : null
}

/** Returns a plausible optional count; 0 if absent, null if implausible. Pure. */
export function countOrNone(value: unknown): number | null {
  return isReported(value) ? countIn(value) : 0
}

function isReported(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isWithin(value: unknown, max: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= max
}

/** The empty object that `membersOf` returns for a value that is not an object. */
const none: Members = {}
export function membersOf(value: unknown): Members {
  return isRecord(value) ? value : none
}

/**
 * Reads a usage. The output is the highest that the fields allow: the reported output, the total minus the prompt, or
 * the sum of output and reasoning if reasoning exceeds the output and so is not part of it. Unknown fields do not
 * make a usage implausible. Null for an implausible usage. Pure.
 */
export function usageFrom(value: unknown): TokenUsage | null {
  const usage = inChatNames(membersOf(value))
  const prompt = countIn(usage['prompt_tokens'])
  const spoken = countOrNone(usage['completion_tokens'])
  if (prompt === null || spoken === null) return null
  // A call always has tokens: a provider that reports zero has not counted.
  if (prompt + spoken === 0) return null
  const ofPrompt = membersOf(usage['prompt_tokens_details'])
  const ofAnswer = membersOf(usage['completion_tokens_details'])
  // Perplexity reports reasoning tokens beside the answer, all other providers in the details.
  const thought = Math.max(
    countIn(ofAnswer['reasoning_tokens']) ?? 0,
    countIn(usage['reasoning_tokens']) ?? 0,
  )
  const cacheWriteTokens = countIn(ofPrompt['cache_write_tokens']) ?? 0
  const total = countIn(usage['total_tokens']) ?? 0
  const cachedTokens =
    countIn(ofPrompt['cached_tokens']) ??
    // DeepSeek and Moonshot report the cached tokens under the following two names.
    countIn(usage['prompt_cache_hit_tokens']) ??
    countIn(usage['cached_tokens']) ??
    0
  return {
    // Cached tokens are part of the prompt; a smaller reported prompt does not include them.
    promptTokens: Math.max(prompt, cachedTokens + cacheWriteTokens),
    completionTokens: Math.max(spoken, total - prompt, thought > spoken ? spoken + thought : 0),
    cachedTokens,
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(thought > 0 ? { besideTokens: spoken + thought } : {}),
    ...told(usage),
  }
}

/** Other names of the members that the cost depends on. */
const otherNames: readonly (readonly [string, readonly string[]])[] = [
  ['prompt_tokens', ['promptTokens', 'input_tokens', 'inputTokens', 'promptTokenCount', 'inputTokenCount']],
  [
    'completion_tokens',
    ['completionTokens', 'output_tokens', 'outputTokens', 'candidatesTokenCount', 'outputTokenCount'],
  ],
  ['total_tokens', ['totalTokens', 'totalTokenCount']],
]

/** Renames the members to those of a chat completion; returns the same object if nothing changes. Pure. */
export function inChatNames(usage: Members): Members {
  let named: Record<string, unknown> | null = null
  for (const [name, others] of otherNames) {
    const other = isReported(usage[name]) ? undefined : others.find((one) => isReported(usage[one]))
    if (other === undefined) continue
    named ??= { ...usage }
    named[name] = usage[other]
    if (other === 'input_tokens') Object.assign(named, withAnthropicCache(usage))
  }
  return named ?? usage
}

/** Anthropic reports cached tokens beside the prompt; gateways pass its usage on in chat completions. */
function withAnthropicCache(usage: Members): Members {
  const cached = countIn(usage['cache_read_input_tokens']) ?? 0
  const written = countIn(usage['cache_creation_input_tokens']) ?? 0
  const prompt = countIn(usage['input_tokens'])
  if (prompt === null || cached + written === 0) return {}
  return {
    prompt_tokens: prompt + cached + written,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  }
}

/**
 * Merges two usages of one stream; no count falls below an earlier one, because some providers restart a count in
 * their last event although the earlier tokens were generated. Pure.
 */
export function laterUsage(before: TokenUsage | null, later: TokenUsage): TokenUsage {
  if (before === null) return later
  return {
    ...later,
    promptTokens: Math.max(before.promptTokens, later.promptTokens),
    completionTokens: Math.max(before.completionTokens, later.completionTokens),
  }
}

/** Characters that count as one token if the provider has reported no output tokens. */
const charsPerToken = 3

/**
 * Estimates the output from the characters if the provider reports zero output tokens beside words. Otherwise returns
 * the same usage. Pure.
 */
export function withCountedOutput(usage: TokenUsage, outputChars: number): TokenUsage {
  if (usage.completionTokens > 0 || outputChars === 0) return usage
  return { ...usage, completionTokens: estimatedTokens(outputChars) }
}

/** Estimates the tokens of an output whose provider reports none. Pure. */
export function estimatedTokens(outputChars: number): number {
  return Math.ceil(outputChars / charsPerToken)
}

/** Returns the number of characters in all strings of a value. Pure. */
export function charsIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + charsIn(inner), 0)
}

/** Returns the cost and the tool calls that the provider reports. Pure. */
export function told(usage: Members): Pick<TokenUsage, 'statedUsd' | 'serverToolCalls'> {
  const statedUsd = usdIn(usage)
  const calls = callsIn(usage['server_tool_use'])
  return {
    ...(statedUsd > 0 ? { statedUsd } : {}),
    ...(calls.length > 0 ? { serverToolCalls: Object.fromEntries(calls) } : {}),
  }
}

/** Returns the reported cost in US dollars: xAI reports ten-billionths, OpenRouter a number, Perplexity a sum. */
function usdIn({ cost, cost_in_usd_ticks: ticks }: Members): number {
  if (isWithin(ticks, ticksMax)) return ticks / ticksPerUsd
  const usd = isRecord(cost) ? cost['total_cost'] : cost
  return isWithin(usd, usdMax) ? usd : 0
}

/** Returns the tool calls by name; none at all if one name is implausibly long. */
function callsIn(value: unknown): readonly (readonly [string, number])[] {
  const calls: (readonly [string, number])[] = []
  for (const [name, reported] of Object.entries(membersOf(value))) {
    if (name.length > toolNameMaxChars) return []
    const times = countIn(reported)
    if (times !== null && name !== '__proto__') calls.push([name, times])
  }
  return calls
}

/** Returns the billed usage, by the rule of the provider. Pure. */
export function billedUsage(usage: TokenUsage, rule: UsageRule): TokenUsage {
  const { besideTokens, statedUsd, ...rest } = usage
  return {
    ...rest,
    completionTokens: Math.max(
      usage.completionTokens,
      rule.reasoningBeside === true ? (besideTokens ?? 0) : 0,
    ),
    ...(statedUsd !== undefined && rule.tellsCost === true ? { statedUsd } : {}),
  }
}
