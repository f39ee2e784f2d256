import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { fitTools } from './fit-tools.ts'
import { requireFewTools } from './tool-limits.ts'
import type { ToolLimits } from './tool-limits.ts'
import { isSignedBy, plainTextOf, readReasoningDetails } from './reasoning-details.ts'

/** Members beyond the common form that this server accepts; others are removed, as some servers reject them. */
export interface ChatExtras {
  readonly cacheControl?: boolean
  /** The form in which the server takes earlier thinking; omitted if it takes none. */
  readonly thinking?: 'reasoning_details' | 'reasoning_content'
  /** True if the server accepts an object `reasoning` beside the messages. */
  readonly reasoning?: boolean
  readonly topK?: boolean
  readonly boundField: 'max_tokens' | 'max_completion_tokens'
  /** The name of the provider. The provider gets only signed thinking that it has signed itself. */
  readonly provider?: string
  readonly tools?: ToolLimits
}

/** Models that accept a reasoning effort, by OpenAI's names; other models reject it. */
const thinksByEffort = /(?:^|\/)(?:o\d|gpt-5|gpt-oss)/

/** Fits a translated request to this server. Throws the Problem `bad-request` for too many tools. Pure. */
export function fitChat(request: JsonObject, extras: ChatExtras): JsonObject {
  const {
    messages,
    tools,
    max_tokens: bound,
    top_k: topK,
    reasoning,
    reasoning_effort: effort,
    ...rest
  } = request
  requireFewTools(request, extras.tools?.max ?? null, extras.provider ?? 'the provider')
  const thinks = typeof rest['model'] === 'string' && thinksByEffort.test(rest['model'])
  const fitted = {
    ...rest,
    messages: fitMessages(Array.isArray(messages) ? messages : [], extras),
    ...(Array.isArray(tools) ? { tools: tools.map((tool) => unmarked(tool, extras)) } : {}),
    ...(bound === undefined ? {} : { [extras.boundField]: bound }),
    ...(topK !== undefined && extras.topK === true ? { top_k: topK } : {}),
    ...(reasoning !== undefined && extras.reasoning === true ? { reasoning } : {}),
    ...(effort !== undefined && thinks && extras.reasoning !== true ? { reasoning_effort: effort } : {}),
  }
  return fitTools(fitted, extras.tools)
}

function fitMessages(messages: readonly JsonValue[], extras: ChatExtras): JsonValue[] {
  const fitted: JsonValue[] = []
  let pictures: JsonValue[] = []
  for (const message of messages) {
    if (!isJsonObject(message)) continue
    if (message['role'] !== 'tool' && pictures.length > 0) {
      fitted.push({ role: 'user', content: pictures })
      pictures = []
    }
    const parts = message['content']
    if (message['role'] === 'tool' && Array.isArray(parts)) {
      pictures.push(...parts.filter((part) => !isText(part)).map((part) => unmarked(part, extras)))
      fitted.push(fitMessage({ ...message, content: parts.filter(isText) }, extras))
    } else fitted.push(fitMessage(message, extras))
  }
  if (pictures.length > 0) fitted.push({ role: 'user', content: pictures })
  return fitted
}

function fitMessage(message: JsonObject, extras: ChatExtras): JsonObject {
  const { content, tool_calls: calls, reasoning_details: details, is_error: isError, ...rest } = message
  delete rest['cache_control']
  const parts = Array.isArray(content) ? content.map((part) => unmarked(part, extras)) : content
  const thought = plainTextOf(readReasoningDetails(details))
  return {
    ...rest,
    content: isError === true ? failed(parts) : rest['role'] === 'tool' ? asText(parts) : (parts ?? null),
    ...(Array.isArray(calls) ? { tool_calls: calls.map((call) => unmarked(call, {})) } : {}),
    ...(extras.thinking === 'reasoning_details' ? ownDetails(details, extras.provider ?? '') : {}),
    ...(thought !== '' && extras.thinking === 'reasoning_content' ? { reasoning_content: thought } : {}),
  }
}

function ownDetails(details: JsonValue | undefined, provider: string): JsonObject {
  if (!Array.isArray(details)) return {}
  const own = details.filter(isJsonObject).filter((detail) => isSignedBy(provider, detail))
  return own.length === 0 ? {} : { reasoning_details: own.map(({ from: _from, ...detail }) => detail) }
}

/** Returns the text of a failed tool result, marked `Error:`, because a chat completion has no member for it. */
function failed(content: JsonValue | undefined): string {
  const text = asText(content)
  return /^error\b/i.test(text) ? text : `Error: ${text}`
}

function asText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : [])
    .map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n')
}

function unmarked(value: JsonValue, extras: Pick<ChatExtras, 'cacheControl'>): JsonValue {
  if (!isJsonObject(value) || extras.cacheControl === true) return value
  const { cache_control: _mark, ...rest } = value
  return rest
}

function isText(part: JsonValue): boolean {
  return isJsonObject(part) && part['type'] === 'text'
}
