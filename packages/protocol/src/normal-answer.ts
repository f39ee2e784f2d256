import * as z from 'zod/mini'

/**
 * An answer of a model as the mesh hands it to the agent that asked: OpenAI's stream of chunks with less room in it, so
 * that its reader has nothing to guess. The words come as they are made, each call whole with an id of its own, and the
 * end is one of four words. What a provider wrote instead, the mesh has read, or refused as `provider-unreadable`.
 */

/** A piece of what the model thought, to be kept and sent back as it is. */
export const thoughtSchema = z.record(z.string(), z.union([z.string(), z.number()]))
export type Thought = z.infer<typeof thoughtSchema>

const callSchema = z.looseObject({
  id: z.string().check(z.minLength(1)),
  function: z.looseObject({ name: z.string().check(z.minLength(1)), arguments: z.string() }),
})

const deltaSchema = z.looseObject({
  /** All content before this chunk turned out to be thinking: its closing tag came without an opening one. */
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
