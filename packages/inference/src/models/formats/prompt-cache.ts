import { createHash } from 'node:crypto'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** How a provider caches the beginning of a prompt. */
export type PromptCache =
  /** The provider caches up to each mark in the request, on a tool or on the text of a message. */
  | { readonly by: 'marks'; readonly onTools: boolean }
  /** The provider caches by itself; a key routes calls with the same beginning to the same machine. */
  | { readonly by: 'prefix'; readonly takesKey: boolean }

/** Amazon rejects a cache point for any other model. */
const cachedAtAmazon =
  /anthropic\.claude-(?:3-7-sonnet|3-5-haiku|3-5-sonnet-20241022|[a-z]+-\d)|amazon\.nova-/

/** Pure. */
export function promptCacheOf(at: {
  readonly model: string
  readonly kind: string
  readonly baseUrl: string | null
  /** True if the provider accepts cache marks in a chat completion, as OpenRouter does. */
  readonly takesMarks: boolean
}): PromptCache {
  const { model, kind, baseUrl } = at
  if (kind === 'anthropic') return { by: 'marks', onTools: true }
  // The mark on the system prompt covers the tools, which come before it.
  if (kind === 'bedrock' && cachedAtAmazon.test(model)) return { by: 'marks', onTools: false }
  if (at.takesMarks && model.startsWith('anthropic/')) return { by: 'marks', onTools: false }
  const takesKey = baseUrl !== null && new URL(baseUrl).hostname === 'api.openai.com'
  return { by: 'prefix', takesKey }
}

/**
 * Adds what makes the provider cache the conversation: a key, or at most four marks, as many as providers accept:
 *
 * - on the last tool, and on the system prompt, which other conversations of the agent share;
 * - on the end of the conversation in the previous call, where the provider finds its cache entry. The provider looks
 *   back a limited number of blocks, so the last mark alone would miss the entry after an answer with many calls;
 * - on the current end of the conversation. Later system messages are not part of the next call.
 *
 * Pure.
 */
export function withPromptCache(call: JsonObject, cache: PromptCache, agentId: string): JsonObject {
  if (cache.by === 'prefix') return cache.takesKey ? { ...call, prompt_cache_key: keyOf(agentId) } : call
  const { messages, tools } = call
  if (!Array.isArray(messages)) return call
  const marked = new Set([systemEnd(messages), ...conversationEnds(messages)])
  return {
    ...call,
    messages: messages.map((message, at) => (marked.has(at) ? markedMessage(message) : message)),
    ...(cache.onTools && Array.isArray(tools) && tools.length > 0 ? { tools: markedLast(tools) } : {}),
  }
}

/** Hashes the agent's id, which must not be sent to a provider. */
function keyOf(agentId: string): string {
  return `flotilla-${createHash('sha256').update(agentId).digest('hex').slice(0, 32)}`
}

const mark = { cache_control: { type: 'ephemeral' } } as const

function systemEnd(messages: readonly JsonValue[]): number {
  const first = messages.findIndex((message) => !isSystem(message))
  return (first === -1 ? messages.length : first) - 1
}

/** Returns the indexes of the last user or tool message before the latest answer, and of the last of all. */
function conversationEnds(messages: readonly JsonValue[]): readonly number[] {
  const end = messages.findLastIndex(isAsked)
  const answer = messages.findLastIndex((message, at) => at < end && roleOf(message) === 'assistant')
  const before = messages.findLastIndex((message, at) => at < answer && isAsked(message))
  return [before, end]
}

function isAsked(message: JsonValue): boolean {
  const role = roleOf(message)
  return role === 'user' || role === 'tool'
}

function isSystem(message: JsonValue): boolean {
  const role = roleOf(message)
  return role === 'system' || role === 'developer'
}

function roleOf(message: JsonValue): JsonValue | undefined {
  return isJsonObject(message) ? message['role'] : undefined
}

/** Marks the last part of a message; a blank text cannot have a mark. */
function markedMessage(message: JsonValue): JsonValue {
  if (!isJsonObject(message)) return message
  const { content } = message
  if (typeof content === 'string')
    return content.trim() === ''
      ? message
      : { ...message, content: [{ type: 'text', text: content, ...mark }] }
  if (!Array.isArray(content) || isBlank(content.at(-1))) return message
  return { ...message, content: markedLast(content) }
}

function isBlank(part: JsonValue | undefined): boolean {
  if (!isJsonObject(part)) return true
  const { text } = part
  return part['type'] === 'text' && (typeof text !== 'string' || text.trim() === '')
}

function markedLast(values: readonly JsonValue[]): JsonValue[] {
  return values.map((value, at) =>
    at === values.length - 1 && isJsonObject(value) ? { ...value, ...mark } : value,
  )
}
