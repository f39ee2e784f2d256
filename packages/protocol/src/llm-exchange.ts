import * as z from 'zod/mini'

/** The part of OpenAI's chat completions that both our agent and our mesh rely on. Third-party shape: loose. */
export const chatToolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})
export type ChatToolCall = z.infer<typeof chatToolCallSchema>

export const chatMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.nullish(z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])),
  tool_calls: z.nullish(z.array(chatToolCallSchema)),
  tool_call_id: z.nullish(z.string()),
})
export type ChatMessage = z.infer<typeof chatMessageSchema>

export const chatCompletionRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(chatMessageSchema),
  stream: z.nullish(z.boolean()),
  stream_options: z.nullish(z.looseObject({ include_usage: z.nullish(z.boolean()) })),
  max_tokens: z.nullish(z.number()),
  max_completion_tokens: z.nullish(z.number()),
  tools: z.nullish(z.array(z.looseObject({ type: z.string() }))),
})
export type ChatCompletionRequest = z.infer<typeof chatCompletionRequestSchema>

export const usageSchema = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.nullish(z.number()),
})
export type Usage = z.infer<typeof usageSchema>
