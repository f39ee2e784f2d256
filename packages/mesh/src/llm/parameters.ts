import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import { Problem } from '@flotilla/protocol/problem'

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

export interface ChatParameters {
  readonly model: string
  readonly stream: boolean
  /** The client asked for the usage at the end of its stream. */
  readonly wantsUsage: boolean
  readonly answers: number
  /** The client's own bound on the answer, by the name it used. */
  readonly maxTokens: {
    readonly field: 'max_tokens' | 'max_completion_tokens'
    readonly value: number
  } | null
  /** What is forwarded, but for model and bound; a stream always asks for its usage. */
  readonly forwarded: JsonObject
}

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readParameters(bytes: Uint8Array): ChatParameters {
  const body = parseBody(bytes)
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
function boundOf(body: JsonObject): ChatParameters['maxTokens'] {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const value = wholeNumber(body[field], field, Number.MAX_SAFE_INTEGER)
    if (value !== null) return { field, value }
  }
  return null
}

function wholeNumber(value: JsonValue | undefined, name: string, max: number): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1 || value > max) {
    throw badRequest(`${name}: a whole number from 1 to ${max} is expected`)
  }
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseBody(bytes: Uint8Array): JsonObject {
  let body: unknown
  try {
    body = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('an object is expected')
  // JSON.parse makes JSON values and nothing else.
  return body as JsonObject
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
