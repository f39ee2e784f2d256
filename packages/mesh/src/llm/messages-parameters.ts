import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { CallParameters } from './dialect.ts'
import { badRequest, parseJsonBody, wholeNumber } from './json-body.ts'
import { messagesEnvelopeSchema } from './messages-request.ts'
import type { MessagesEnvelope } from './messages-request.ts'

/** What of a request goes on to a provider; anything else in a body stays here. */
const forwarded = [
  'system',
  'messages',
  'stop_sequences',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'metadata',
  'output_config',
  'output_format',
  'cache_control',
] as const

/** What a count of tokens takes of them. */
const counted = new Set<string>(['system', 'messages', 'tools', 'tool_choice', 'thinking', 'cache_control'])

/**
 * Tools of the provider's that run at the client's side. All others of its own kinds run at the provider: they reach
 * the network past every wall and cost what no price list knows.
 */
const clientSideTool = /^(?:custom|(?:bash|text_editor|computer|memory)_\d{8})$/

/** Features by name that change the form of a call and nothing else; any other stays here. */
const betasLetThrough: readonly RegExp[] = [
  /^prompt-caching-/,
  /^extended-cache-ttl-/,
  /^interleaved-thinking-/,
  /^fine-grained-tool-streaming-/,
  /^token-efficient-tools-/,
  /^structured-outputs-/,
  /^computer-use-/,
  /^effort-/,
]

/** The smallest thinking that the Messages API knows, tokens. */
const thinkingMinTokens = 1024

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readMessagesParameters(bytes: Uint8Array, betas: readonly string[]): CallParameters {
  const { body, request } = parse(bytes)
  const value = wholeNumber(body['max_tokens'], 'max_tokens', Number.MAX_SAFE_INTEGER)
  if (value === null) throw badRequest('max_tokens: a whole number is required')
  const chosen = choose(body, forwarded)
  return {
    model: request.model,
    stream: request.stream === true,
    wantsUsage: true,
    answers: 1,
    maxTokens: { field: 'max_tokens', value },
    forwarded: chosen,
    fit: (maxTokens) => fitThinking(chosen, request, maxTokens),
    betas: betas.filter((name) => betasLetThrough.some((pattern) => pattern.test(name))),
  }
}

/** The same for a count of tokens, which has no answer to bound. Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readCountParameters(bytes: Uint8Array): {
  readonly model: string
  readonly forwarded: JsonObject
} {
  const { body, request } = parse(bytes)
  return {
    model: request.model,
    forwarded: choose(
      body,
      forwarded.filter((name) => counted.has(name)),
    ),
  }
}

function parse(bytes: Uint8Array): { readonly body: JsonObject; readonly request: MessagesEnvelope } {
  const body = parseJsonBody(bytes)
  const parsed = messagesEnvelopeSchema.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw badRequest(`${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not of the expected form'}`)
  }
  for (const { type, name } of parsed.data.tools ?? []) {
    if (type !== null && type !== undefined && !clientSideTool.test(type)) {
      throw badRequest(`tools: ${name ?? 'one'} (${type}) runs at the provider, which is not allowed here`)
    }
  }
  return { body, request: parsed.data }
}

function choose(body: JsonObject, names: readonly string[]): JsonObject {
  const chosen: Record<string, JsonValue> = {}
  for (const name of names) {
    const value = body[name]
    if (value !== undefined && value !== null) chosen[name] = value
  }
  return chosen
}

/** A budget that is nearly used up leaves less room than the thinking was to have: it gets less, or there is none. */
function fitThinking(chosen: JsonObject, request: MessagesEnvelope, maxTokens: number): JsonObject {
  const budget = request.thinking?.budget_tokens
  if (budget === null || budget === undefined || budget < maxTokens) return chosen
  // A client's own contradiction is for the provider to tell.
  if (typeof request['max_tokens'] === 'number' && budget >= request['max_tokens']) return chosen
  const { thinking, ...rest } = chosen
  if (maxTokens <= thinkingMinTokens) return rest
  return { ...rest, thinking: { ...(thinking as JsonObject), budget_tokens: maxTokens - 1 } }
}
