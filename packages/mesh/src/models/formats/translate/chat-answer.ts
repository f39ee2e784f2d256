import * as z from 'zod'
import { billedUsage, usageFrom } from '../usage.ts'
import type { UsageRule } from '../usage.ts'

/** The part of an answer of chat completions that is carried over. A third party's form: loose. */
const callSchema = z.looseObject({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
})

export const saidSchema = z.looseObject({
  content: z.union([z.string(), z.array(z.looseObject({ text: z.string().nullish() }))]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(callSchema).nullish(),
  reasoning_details: z.unknown().optional(),
  reasoning_content: z.string().nullish(),
  reasoning: z.unknown().optional(),
})
export type Said = z.infer<typeof saidSchema>

export const chatAnswerSchema = z.looseObject({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z.array(
    z.looseObject({
      message: saidSchema.nullish(),
      delta: saidSchema.nullish(),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: z.unknown().optional(),
})

export function textIn(content: Said['content']): string {
  if (content === null || content === undefined) return ''
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('')
}

/** Thinking as providers without signed pieces tell it. */
export function plainReasoning(said: Said): string {
  return said.reasoning_content ?? (typeof said.reasoning === 'string' ? said.reasoning : '')
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

export function stopReasonFrom(finish: string | null): string {
  return stopReasons[finish ?? 'stop'] ?? 'end_turn'
}

/**
 * The usage in the words of messages, where the prompt is told without what the cache held or took, and the output is
 * all that is paid for. Pure.
 */
export function messagesUsage(value: unknown, rule: UsageRule): Record<string, number> {
  const told = usageFrom(value)
  if (told === null) return { input_tokens: 0, output_tokens: 0 }
  const usage = billedUsage(told, rule)
  const written = usage.cacheWriteTokens ?? 0
  return {
    input_tokens: Math.max(0, usage.promptTokens - usage.cachedTokens - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    ...(usage.toldUsd === undefined ? {} : { cost: usage.toldUsd }),
  }
}
