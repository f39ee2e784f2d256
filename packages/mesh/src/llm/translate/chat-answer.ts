import * as z from 'zod'

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

const count = z.number().int().min(0).catch(0)

const usageSchema = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() })
    .nullish(),
})

/** The usage in the words of messages, where the prompt is told without what the cache held or took. Pure. */
export function messagesUsage(value: unknown): Record<string, number> {
  const parsed = usageSchema.safeParse(value)
  if (!parsed.success) return { input_tokens: 0, output_tokens: 0 }
  const { prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: details } = parsed.data
  const cached = details?.cached_tokens ?? 0
  const written = details?.cache_write_tokens ?? 0
  return {
    input_tokens: Math.max(0, prompt - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
  }
}
