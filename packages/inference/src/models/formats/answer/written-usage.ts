import { isRecord } from '../empty-answer.ts'
import { inChatNames, usageFrom, withCountedOutput } from '../usage.ts'

/** A usage as its provider wrote it. */
export type WrittenUsage = Readonly<Record<string, unknown>>

/** Returns the plausible usage in one event or answer, with counts as numbers; null without one. Pure. */
export function usageIn(value: Readonly<Record<string, unknown>>): WrittenUsage | null {
  const groq = value['x_groq']
  const evaluated = value['prompt_eval_count']
  const ollama =
    evaluated === undefined ? null : { prompt_tokens: evaluated, completion_tokens: value['eval_count'] }
  const first: unknown = Array.isArray(value['choices']) ? value['choices'][0] : null
  // Moonshot reports the usage inside the first choice.
  const moonshot = isRecord(first) ? first['usage'] : null
  for (const usage of [value['usage'], isRecord(groq) ? groq['usage'] : null, moonshot, ollama]) {
    if (!isRecord(usage)) continue
    const counted = countsInNumbers(inChatNames(usage))
    // Only the mesh may set these two members of a usage, so the provider's values are dropped.
    const { cost_usd: _cost, answer_bound: _bound, ...reported } = counted
    if (usageFrom(reported) !== null) return reported
  }
  return null
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
