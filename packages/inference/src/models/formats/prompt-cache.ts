import { createHash } from 'node:crypto'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { promptParts } from '@flotilla/protocol/prompt-parts'
import { isOpenAi } from './openai-address.ts'

/** How a provider caches the beginning of a prompt. */
export type PromptCache =
  /** The provider caches up to each mark in the request, on a tool or on the text of a message. */
  | {
      readonly by: 'marks'
      /** The member of a part that marks it. OpenAI's models from GPT-5.6 on have a member of their own. */
      readonly mark: 'cache_control' | 'prompt_cache_breakpoint'
      /** True if the provider uses a key to route calls with the same beginning to the same machine. */
      readonly takesKey: boolean
      readonly onTools: boolean
      /** True if a prompt can be kept for an hour instead of five minutes. */
      readonly forAnHour: boolean
      /** The minimum number of tokens that the provider caches for this model; a shorter beginning gets no mark. */
      readonly minTokens: number
    }
  /** The provider caches by itself; a key routes calls with the same beginning to the same machine. */
  | { readonly by: 'prefix'; readonly takesKey: boolean }

/** Amazon rejects a cache point for any other model. */
const cachedAtAmazon =
  /anthropic\.claude-(?:3-7-sonnet|3-5-haiku|3-5-sonnet-20241022|[a-z]+-\d)|amazon\.nova-/

/** The Claude models for which Amazon can cache a prompt for an hour. */
const forAnHourAtAmazon = /anthropic\.claude-(?:opus|sonnet|haiku)-4-[5-9]/
/**
 * The minimum number of tokens that providers cache, for Claude models that differ from the usual minimum. Where
 * sources differ, the lowest: providers ignore a mark on a beginning that is too short.
 */
const minTokensOf: readonly (readonly [model: RegExp, tokens: number])[] = [
  [/claude-(?:opus-4[.-][56]|haiku-4[.-][5-9])/, 4096],
  [/claude-(?:opus-4[.-]7|3[.-]5-haiku|3-haiku)/, 2048],
  [/claude-(?:opus|fable|mythos)-[5-9]/, 512],
]
const minTokensUsual = 1024

/** From GPT-5.6 on, a cache entry is found only where a mark is, and a write costs 1.25 times the price of a token. */
const markedAtOpenAi = /^(?:openai\/)?gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])/

/** Pure. */
export function promptCacheOf(at: {
  readonly model: string
  readonly kind: string
  readonly baseUrl: string | null
  /** True if the provider accepts cache marks in a chat completion, as OpenRouter does. */
  readonly takesMarks: boolean
}): PromptCache {
  const { model, kind, baseUrl } = at
  const minTokens = minTokensOf.find(([pattern]) => pattern.test(model))?.[1] ?? minTokensUsual
  const takesKey = isOpenAi(baseUrl)
  const byMarks = { by: 'marks', mark: 'cache_control', onTools: false, forAnHour: true } as const
  const marks = { ...byMarks, minTokens, takesKey: false }
  if (kind === 'anthropic') return { ...marks, onTools: true }
  // The mark on the system prompt covers the tools, which come before it.
  if (kind === 'bedrock' && cachedAtAmazon.test(model))
    return { ...marks, forAnHour: forAnHourAtAmazon.test(model) }
  if (at.takesMarks && model.startsWith('anthropic/')) return marks
  if ((takesKey || at.takesMarks) && markedAtOpenAi.test(model))
    return { ...marks, mark: 'prompt_cache_breakpoint', forAnHour: false, takesKey }
  return { by: 'prefix', takesKey }
}

/**
 * Adds what makes the provider cache the conversation: a key, or at most four marks, as many as providers accept:
 *
 * - on the part of the system prompt that runs of all kinds share, and on its end, which other conversations of this
 *   kind share;
 * - on the end of the conversation in the previous call, where the provider finds its cache entry. The provider
 *   looks back a limited number of blocks, so the last mark alone would miss the entry after an answer with many
 *   calls;
 * - on the current end of the conversation. Later system messages are not part of the next call;
 * - if one mark is left, on the last tool, where the provider allows it.
 *
 * A beginning that is surely too short for the model gets no mark. All marks of a call have the same lifetime,
 * because a provider rejects a longer one behind a shorter one, and because its report does not separate them.
 * Pure.
 */
export function withPromptCache(
  call: JsonObject,
  cache: PromptCache,
  by: { readonly agentId: string; readonly keep: CacheTime },
): JsonObject {
  const keyed = cache.takesKey ? { ...call, prompt_cache_key: keyOf(by.agentId) } : call
  if (cache.by === 'prefix' || !Array.isArray(call['messages'])) return keyed
  const messages = call['messages'].map(withKindApart)
  const { tools } = call
  const mark = markOf(cache, by.keep)
  const isLong = (bytes: number) => bytes >= cache.minTokens * bytesPerTokenMin
  const toolBytes = bytesOf(tools ?? null)
  const ends = [toolBytes]
  for (const message of messages) ends.push((ends.at(-1) ?? 0) + bytesOf(message))
  const system = systemEnd(messages)
  const marked = new Set(
    [system, ...conversationEnds(messages)].filter((at) => at >= 0 && isLong(ends[at + 1] ?? 0)),
  )
  const isShared =
    partsOf(messages[system]).length > 1 &&
    isLong((ends[system] ?? 0) + bytesOf(partsOf(messages[system])[0] ?? null))
  const isToolMarked =
    cache.onTools && marked.size + Number(isShared) < marksMax && tools !== undefined && isLong(toolBytes)
  return {
    ...keyed,
    messages: messages.map((message, at) => {
      const whole = marked.has(at) ? markedMessage(message, mark) : message
      return at === system && isShared ? markedFirst(whole, mark) : whole
    }),
    // Else the provider would also write the notices at the end, which the next call lacks, at the price of a write.
    ...(cache.mark === 'prompt_cache_breakpoint' && (marked.size > 0 || isShared)
      ? { prompt_cache_options: { mode: 'explicit' } }
      : {}),
    ...(isToolMarked && Array.isArray(tools) && tools.length > 0 ? { tools: markedLast(tools, mark) } : {}),
  }
}

/** The maximum number of marks that providers accept in a call. */
const marksMax = 4

/**
 * Divides the instructions of the agent into two parts: what runs of all kinds share, and the rules of this kind of run.
 */
function withKindApart(message: JsonValue): JsonValue {
  if (!isJsonObject(message) || !isSystem(message)) return message
  const { content } = message
  const at = typeof content === 'string' ? content.lastIndexOf(`\n\n${promptParts.kind}`) + 2 : 1
  if (typeof content !== 'string' || at <= 2) return message
  const parts = [content.slice(0, at), content.slice(at)].map((text) => ({ type: 'text', text }))
  return { ...message, content: parts }
}

function partsOf(message: JsonValue | undefined): readonly JsonValue[] {
  return isJsonObject(message) && Array.isArray(message['content']) ? message['content'] : []
}

/** How long a provider keeps a prompt in its cache after each use: five minutes or an hour. */
export type CacheTime = '5m' | '1h'

/** Returns the lifetime that the marks of a call have. Pure. */
function keptFor(cache: PromptCache, requested: CacheTime): CacheTime {
  return cache.by === 'marks' && cache.forAnHour ? requested : '5m'
}

/** How deep in a call a client may set a mark: on a part of a result in a message. */
const markDepthMax = 8

/** True if a mark in the call, which may be a client's own, asks the provider to keep a prompt for an hour. Pure. */
export function asksForAnHour(value: JsonValue, depth = 0): boolean {
  if (depth > markDepthMax) return false
  if (Array.isArray(value)) return value.some((one) => asksForAnHour(one, depth + 1))
  if (!isJsonObject(value)) return false
  const { cache_control: mark } = value
  if (isJsonObject(mark) && mark['ttl'] === '1h') return true
  return Object.values(value).some((one) => asksForAnHour(one, depth + 1))
}

/** The fewest bytes of JSON that one token has. */
const bytesPerTokenMin = 2

function bytesOf(value: JsonValue): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value))
}

/** Hashes the agent's id, which must not be sent to a provider. */
function keyOf(agentId: string): string {
  return `flotilla-${createHash('sha256').update(agentId).digest('hex').slice(0, 32)}`
}

/** The member that marks a part. */
type Mark = Readonly<Record<string, JsonValue>>

function markOf(cache: Extract<PromptCache, { by: 'marks' }>, keep: CacheTime): Mark {
  if (cache.mark === 'prompt_cache_breakpoint') return { prompt_cache_breakpoint: { mode: 'explicit' } }
  return { cache_control: { type: 'ephemeral', ...(keptFor(cache, keep) === '1h' ? { ttl: '1h' } : {}) } }
}

function systemEnd(messages: readonly JsonValue[]): number {
  const first = messages.findIndex((message) => !isSystem(message))
  return (first === -1 ? messages.length : first) - 1
}

/** Returns the indexes of the last user or tool message before the latest answer, and of the last of all. */
function conversationEnds(messages: readonly JsonValue[]): readonly number[] {
  const end = messages.findLastIndex(isInput)
  const answer = messages.findLastIndex((message, at) => at < end && roleOf(message) === 'assistant')
  const before = messages.findLastIndex((message, at) => at < answer && isInput(message))
  return [before, end]
}

function isInput(message: JsonValue): boolean {
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
function markedMessage(message: JsonValue, mark: Mark): JsonValue {
  if (!isJsonObject(message)) return message
  const { content } = message
  if (typeof content === 'string')
    return content.trim() === ''
      ? message
      : { ...message, content: [{ type: 'text', text: content, ...mark }] }
  if (!Array.isArray(content) || isBlank(content.at(-1))) return message
  return { ...message, content: markedLast(content, mark) }
}

function isBlank(part: JsonValue | undefined): boolean {
  if (!isJsonObject(part)) return true
  const { text } = part
  return part['type'] === 'text' && (typeof text !== 'string' || text.trim() === '')
}

/** Marks the first part of a message. */
function markedFirst(message: JsonValue, mark: Mark): JsonValue {
  if (!isJsonObject(message)) return message
  const [first, ...others] = partsOf(message)
  return isJsonObject(first) ? { ...message, content: [{ ...first, ...mark }, ...others] } : message
}

function markedLast(values: readonly JsonValue[], mark: Mark): JsonValue[] {
  return values.map((value, at) =>
    at === values.length - 1 && isJsonObject(value) ? { ...value, ...mark } : value,
  )
}
