import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import type { CallParameters } from './dialect.ts'
import { badRequest, parseJsonBody, wholeNumber } from './json-body.ts'

/** What of a request goes on to a provider; anything else in a body stays here. */
const forwarded = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'n',
  'logprobs',
  'top_logprobs',
  'user',
  'reasoning_effort',
] as const

/** Answers per call; each may cost as much as the first. */
const answersMax = 16

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readParameters(bytes: Uint8Array): CallParameters {
  const body = parseJsonBody(bytes)
  const parsed = chatCompletionRequestSchema.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw badRequest(`${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not of the expected form'}`)
  }
  const stream = parsed.data.stream === true
  const chosen: Record<string, JsonValue> = {}
  for (const name of forwarded) {
    const value = body[name]
    if (value !== undefined && value !== null) chosen[name] = value
  }
  delete chosen['max_tokens']
  delete chosen['max_completion_tokens']
  delete chosen['stream_options']
  if (stream) chosen['stream_options'] = { include_usage: true }
  return {
    model: parsed.data.model,
    stream,
    wantsUsage: parsed.data.stream_options?.include_usage === true,
    answers: wholeNumber(body['n'], 'n', answersMax) ?? 1,
    maxTokens: boundOf(body),
    forwarded: chosen,
  }
}

/** The newer name wins where a client sends both, since models that know it refuse the other. */
function boundOf(body: JsonObject): CallParameters['maxTokens'] {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const value = wholeNumber(body[field], field, Number.MAX_SAFE_INTEGER)
    if (value !== null) return { field, value }
  }
  return null
}
