import * as z from 'zod/mini'

/**
 * A model's answer as the mesh sends it to the agent: a stricter form of OpenAI's stream of chunks, so that the agent
 * need not guess. Text comes as it is generated, each tool call comes whole with an id of its own, and there are four
 * possible ends. The mesh converts what a provider sends, or rejects it as `provider-unreadable`.
 */

/** A piece of the model's thinking; the agent stores it and sends it back unchanged. */
export const thoughtSchema = z.record(z.string(), z.union([z.string(), z.number()]))
export type Thought = z.infer<typeof thoughtSchema>

const callSchema = z.looseObject({
  id: z.string().check(z.minLength(1)),
  function: z.looseObject({ name: z.string().check(z.minLength(1)), arguments: z.string() }),
})

const deltaSchema = z.looseObject({
  /** True if all earlier content of the answer is thinking: its closing tag came without an opening tag. */
  content_was_reasoning: z.optional(z.boolean()),
  content: z.optional(z.nullable(z.string())),
  reasoning_details: z.optional(z.array(thoughtSchema)),
  tool_calls: z.optional(z.array(callSchema)),
})

const count = z.number().check(z.minimum(0))

const usageSchema = z.looseObject({
  prompt_tokens: z.optional(count),
  completion_tokens: z.optional(z.nullable(count)),
  cost_usd: z.optional(count),
  answer_bound: z.optional(z.nullable(z.number())),
})

export const normalEnds = ['stop', 'length', 'tool_calls', 'content_filter'] as const

export const normalChunkSchema = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.optional(deltaSchema),
      message: z.optional(deltaSchema),
      finish_reason: z.optional(z.nullable(z.enum(normalEnds))),
    }),
  ),
  usage: z.optional(z.nullable(usageSchema)),
  cost_usd: z.optional(count),
  answer_bound: z.optional(z.nullable(z.number())),
})
export type NormalChunk = z.infer<typeof normalChunkSchema>
