import * as z from 'zod'

/** The part of the Messages API that the mesh reads. The schemas are loose, because others define the API. */
const cacheControl = z.looseObject({ type: z.string() }).nullish()

const innerBlock = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  source: z.looseObject({ type: z.string() }).nullish(),
  tool_name: z.string().nullish(),
})

const contentBlockSchema = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  data: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
  tool_use_id: z.string().nullish(),
  tool_name: z.string().nullish(),
  is_error: z.boolean().nullish(),
  /** A search result has a string as its source, which a chat completion cannot carry. */
  source: z.union([z.looseObject({ type: z.string() }), z.string()]).nullish(),
  title: z.string().nullish(),
  content: z.union([z.string(), z.array(innerBlock), z.looseObject({})]).nullish(),
  cache_control: cacheControl,
})
export type ContentBlock = z.infer<typeof contentBlockSchema>

export const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(contentBlockSchema)]),
})

const messagesToolSchema = z.looseObject({
  type: z.string().nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
  cache_control: cacheControl,
})

export const messagesRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema),
  system: z
    .union([
      z.string(),
      z.array(z.looseObject({ type: z.string(), text: z.string(), cache_control: cacheControl })),
    ])
    .nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(messagesToolSchema).nullish(),
  tool_choice: z
    .looseObject({
      type: z.string(),
      name: z.string().nullish(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  thinking: z.looseObject({ type: z.string(), budget_tokens: z.number().nullish() }).nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
  output_config: z
    .looseObject({
      effort: z.string().nullish(),
      format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish(),
    })
    .nullish(),
  output_format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish(),
})
export type MessagesRequest = z.infer<typeof messagesRequestSchema>
