import type { JsonObject } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { parseFirst } from '@flotilla/foundation/intake'
import { badRequest } from '../../formats/json-body.ts'

const cacheControl = z.looseObject({ type: z.string(), ttl: z.string().nullish() }).nullish()

/** The mark of OpenAI's models that cache up to marks. */
const breakpoint = z.looseObject({ mode: z.literal('explicit') }).nullish()

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  image_url: z
    .union([z.string(), z.looseObject({ url: z.string(), detail: z.string().nullish() })])
    .nullish(),
  file: z.looseObject({ file_data: z.string().nullish(), filename: z.string().nullish() }).nullish(),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }).nullish(),
  cache_control: cacheControl,
  prompt_cache_breakpoint: breakpoint,
})
export type SdkPart = z.infer<typeof partSchema>

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(partSchema)]).nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string(),
        function: z.looseObject({ name: z.string(), arguments: z.string() }),
        cache_control: cacheControl,
      }),
    )
    .nullish(),
  tool_call_id: z.string().nullish(),
  reasoning_details: z.unknown().optional(),
  is_error: z.boolean().nullish(),
  found_tools: z.looseObject({ names: z.array(z.string()), note: z.string() }).nullish(),
  cache_control: cacheControl,
})
export type SdkMessage = z.infer<typeof messageSchema>

const toolSchema = z.looseObject({
  type: z.string(),
  function: z
    .looseObject({
      name: z.string(),
      description: z.string().nullish(),
      parameters: z.looseObject({}).nullish(),
      strict: z.boolean().nullish(),
    })
    .nullish(),
  cache_control: cacheControl,
})
export type SdkTool = z.infer<typeof toolSchema>

const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/** The parts of a chat completion that the AI SDK can carry. */
const requestSchema = z.looseObject({
  messages: z.array(messageSchema),
  max_tokens: z.number().nullish(),
  max_completion_tokens: z.number().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  tools: z.array(toolSchema).nullish(),
  deferred_tools: z.array(toolSchema).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.looseObject({ function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({
          name: z.string().nullish(),
          description: z.string().nullish(),
          schema: z.looseObject({}).nullish(),
          strict: z.boolean().nullish(),
        })
        .nullish(),
    })
    .nullish(),
  reasoning_effort: effort.nullish(),
  reasoning: z
    .looseObject({
      max_tokens: z.number().nullish(),
      enabled: z.boolean().nullish(),
      effort: effort.nullish(),
    })
    .nullish(),
  user: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({ mode: z.enum(['implicit', 'explicit']) }).nullish(),
})
export type SdkChatRequest = z.infer<typeof requestSchema>

/**
 * Members that no provider behind the AI SDK supports. Dropping them would change the answer, so they are
 * rejected.
 */
const notCarried = ['logprobs', 'top_logprobs', 'logit_bias'] as const

/** Reads the body of a chat completion. Throws the Problem `bad-request`. Pure. */
export function readSdkRequest(body: JsonObject): SdkChatRequest {
  const parsed = parseFirst(requestSchema, body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw badRequest(`${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not of the expected form'}`)
  }
  for (const name of notCarried) {
    const value = body[name]
    if (value !== undefined && value !== null && value !== false) {
      throw badRequest(`${name}: the provider of this model does not support this parameter`)
    }
  }
  if (typeof body['n'] === 'number' && body['n'] > 1) {
    throw badRequest('n: the provider of this model returns only one answer for a call')
  }
  return parsed.data
}
