import { isRecord } from './empty-answer.ts'

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
  /** Answer plus reasoning tokens, for providers that do not count reasoning as part of the answer. */
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

const countMax = 1_000_000_000
const usdMax = 1_000_000
const ticksMax = 1e16
const ticksPerUsd = 1e10
const toolNameMaxChars = 64

type Members = Readonly<Record<string, unknown>>

/** A plausible number of tokens, also as a text; null for all else. Pure. */
export function countIn(told: unknown): number | null {
  const value = typeof told === 'string' && /^\d{1,15}$/.test(told) ? Number(told) : told
  return Number.isSafeInteger(value) && isWithin(value, countMax) ? value : null
}

/** The same for an optional count: 0 if absent. Pure. */
export function countOrNone(value: unknown): number | null {
  return isTold(value) ? countIn(value) : 0
}

function isTold(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isWithin(value: unknown, max: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= max
}

/** Members of a value that may have none. */
const none: Members = {}
export function membersOf(value: unknown): Members {
  return isRecord(value) ? value : none
}

/**
 * The output is the greatest that the fields allow: the reported output, the total minus the prompt, or their sum if
 * reasoning exceeds the whole answer and so cannot be part of it. Extra fields beside the billed counts do not make
 * them implausible. Null for an implausible usage. Pure.
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
    // DeepSeek's, and Moonshot's.
    countIn(usage['prompt_cache_hit_tokens']) ??
    countIn(usage['cached_tokens']) ??
    0
  return {
    // What a cache held or took was part of the prompt, so a smaller prompt has not counted it.
    promptTokens: Math.max(prompt, cachedTokens + cacheWriteTokens),
    completionTokens: Math.max(spoken, total - prompt, thought > spoken ? spoken + thought : 0),
    cachedTokens,
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(thought > 0 ? { besideTokens: spoken + thought } : {}),
    ...told(usage),
  }
}

/** Other names of the members that money depends on. */
const otherNames: readonly (readonly [string, readonly string[]])[] = [
  ['prompt_tokens', ['promptTokens', 'input_tokens', 'inputTokens']],
  ['completion_tokens', ['completionTokens', 'output_tokens', 'outputTokens']],
  ['total_tokens', ['totalTokens']],
]

/** The usage with its members under the names of a chat completion; the same where they have them. Pure. */
export function inChatNames(usage: Members): Members {
  let named: Record<string, unknown> | null = null
  for (const [name, others] of otherNames) {
    const other = isTold(usage[name]) ? undefined : others.find((one) => isTold(usage[one]))
    if (other === undefined) continue
    named ??= { ...usage }
    named[name] = usage[other]
  }
  return named ?? usage
}

/**
 * The later of two usages of one stream, with no count below an earlier one: some providers restart a count in their
 * last event, but what was generated stays so. Pure.
 */
export function laterUsage(before: TokenUsage | null, later: TokenUsage): TokenUsage {
  if (before === null) return later
  return {
    ...later,
    promptTokens: Math.max(before.promptTokens, later.promptTokens),
    completionTokens: Math.max(before.completionTokens, later.completionTokens),
  }
}

/** Characters of an answer that count as one token where its provider has counted none */
const charsPerToken = 3

/**
 * The usage with an output counted from what was said, where the provider reports an output of zero tokens beside words.
 * The same usage otherwise. Pure.
 */
export function withCountedOutput(usage: TokenUsage, saidChars: number): TokenUsage {
  if (usage.completionTokens > 0 || saidChars === 0) return usage
  return { ...usage, completionTokens: Math.ceil(saidChars / charsPerToken) }
}

/** Characters of all texts in a value. Pure. */
export function charsIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + charsIn(inner), 0)
}

/** Returns the cost and the tool calls that the provider reports. Pure. */
export function told(usage: Members): Pick<TokenUsage, 'toldUsd' | 'serverToolCalls'> {
  const toldUsd = usdIn(usage)
  const calls = callsIn(usage['server_tool_use'])
  return {
    ...(toldUsd > 0 ? { toldUsd } : {}),
    ...(calls.length > 0 ? { serverToolCalls: Object.fromEntries(calls) } : {}),
  }
}

/** xAI's in ten-billionths of a dollar; OpenRouter's is a number, Perplexity's has the sum among its parts. */
function usdIn({ cost, cost_in_usd_ticks: ticks }: Members): number {
  if (isWithin(ticks, ticksMax)) return ticks / ticksPerUsd
  const usd = isRecord(cost) ? cost['total_cost'] : cost
  return isWithin(usd, usdMax) ? usd : 0
}

/** None of them where any has a name beyond all reason. */
function callsIn(value: unknown): readonly (readonly [string, number])[] {
  const calls: (readonly [string, number])[] = []
  for (const [name, told] of Object.entries(membersOf(value))) {
    if (name.length > toolNameMaxChars) return []
    const times = countIn(told)
    if (times !== null && name !== '__proto__') calls.push([name, times])
  }
  return calls
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
