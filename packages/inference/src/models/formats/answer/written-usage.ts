import { isRecord } from '../empty-answer.ts'
import { inChatNames, membersOf, usageFrom, withCountedOutput } from '../usage.ts'

/** A usage as its provider wrote it. */
export type WrittenUsage = Readonly<Record<string, unknown>>

/** Returns the plausible usage in one event or answer, with counts as numbers; null without one. Pure. */
export function usageIn(value: Readonly<Record<string, unknown>>): WrittenUsage | null {
  for (const usage of usagesIn(value)) {
    if (!isRecord(usage)) continue
    const counted = countsInNumbers(inChatNames(usage))
    // Only the mesh may set these two members of a usage, so the provider's values are dropped.
    const { cost_usd: _cost, answer_bound: _bound, ...reported } = counted
    const whole = withPrompt(reported)
    if (usageFrom(whole) !== null) return whole
  }
  return null
}

/** Adds the prompt as what the total leaves, for servers that report only the total and the output. */
function withPrompt(usage: WrittenUsage): WrittenUsage {
  const { prompt_tokens: prompt, total_tokens: total, completion_tokens: answer } = usage
  if (prompt != null || typeof total !== 'number' || typeof answer !== 'number' || answer === 0) return usage
  return { ...usage, prompt_tokens: total - answer }
}

/** Returns what may be the usage, in the order in which it is believed. */
function usagesIn(value: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { usage } = value
  const first = membersOf(Array.isArray(value['choices']) ? value['choices'][0] : null)
  return [
    Array.isArray(usage) ? usage[0] : usage,
    membersOf(value['x_groq'])['usage'],
    // Moonshot reports the usage inside the first choice, other gateways inside its message.
    first['usage'],
    membersOf(first['delta'])['usage'],
    membersOf(first['message'])['usage'],
    value['usage_metadata'],
    value['usageMetadata'],
    value['token_usage'],
    // Bedrock adds this member to the last event of a stream.
    value['amazon-bedrock-invocationMetrics'],
    ofOllama(value),
    ofLlamaCpp(value['timings']),
  ]
}

function ofOllama({ prompt_eval_count: prompt, eval_count: answer }: WrittenUsage): WrittenUsage | null {
  return prompt === undefined ? null : { prompt_tokens: prompt, completion_tokens: answer }
}

/** llama.cpp counts the tokens that it evaluated; the cached ones come beside them. */
function ofLlamaCpp(timings: unknown): WrittenUsage | null {
  const { prompt_n: prompt, predicted_n: answer, cache_n: cached = 0 } = membersOf(timings)
  if (typeof prompt !== 'number' || typeof cached !== 'number') return null
  return { prompt_tokens: prompt + cached, completion_tokens: answer }
}

/** Estimates the output tokens from the characters if the provider reports none for an answer with words. */
export function counted(usage: WrittenUsage, outputChars: number): WrittenUsage {
  const reported = usageFrom(usage)
  const output = reported && withCountedOutput(reported, outputChars).completionTokens
  if (reported === null || output === reported.completionTokens) return usage
  return { ...usage, completion_tokens: output, total_tokens: reported.promptTokens + (output ?? 0) }
}

/** Converts counts that a provider writes as strings to numbers; returns the same object if nothing changes. Pure. */
function countsInNumbers(usage: WrittenUsage): WrittenUsage {
  const counted = Object.entries(usage).flatMap(([name, value]): (readonly [string, unknown])[] => {
    if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return [[name, Number(value)]]
    if (!isRecord(value)) return []
    const inner = countsInNumbers(value)
    return inner === value ? [] : [[name, inner]]
  })
  return counted.length === 0 ? usage : { ...usage, ...Object.fromEntries(counted) }
}
