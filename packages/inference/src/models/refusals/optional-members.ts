import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { withoutDeferredTools } from '../formats/deferred-tools.ts'

/** A request member that may be removed or renamed if a provider rejects it. */
export interface Member {
  /** The member's names in refusals, in lower case; the member's own name comes first. */
  readonly named: readonly string[]
  /** The name under which the value is sent instead. */
  readonly becomes?: string
  /** The objects in the request that have this member; omitted for a member of the request itself. */
  readonly of?: 'messages' | 'functions'
  /** The only value that may be removed, because any other changes the meaning of the answer; all if omitted. */
  readonly only?: JsonValue
}

/**
 * Hints and bounds whose removal keeps the meaning of the answer. Members that limit its content, such as `stop`,
 * `logit_bias` and `response_format`, are not listed: without them the caller would get another answer than
 * requested.
 */
export const members: Readonly<Record<string, Member>> = {
  max_tokens: { named: ['max_tokens', 'maxtokens'], becomes: 'max_completion_tokens' },
  max_completion_tokens: { named: ['max_completion_tokens'], becomes: 'max_tokens' },
  temperature: { named: ['temperature'] },
  top_p: { named: ['top_p', 'topp'] },
  top_k: { named: ['top_k', 'topk'] },
  seed: { named: ['seed', 'random_seed'] },
  presence_penalty: { named: ['presence_penalty', 'presencepenalty'] },
  frequency_penalty: { named: ['frequency_penalty', 'frequencypenalty'] },
  user: { named: ['user'] },
  prompt_cache_key: { named: ['prompt_cache_key'] },
  parallel_tool_calls: { named: ['parallel_tool_calls', 'disable_parallel_tool_use'] },
  stream_options: { named: ['stream_options', 'include_usage'] },
  reasoning_effort: {
    named: ['reasoning_effort', 'reasoning.effort', 'output_config', 'effort', 'thinking', 'reasoning'],
  },
  reasoning: { named: ['reasoning', 'thinking'] },
  tool_choice: { named: ['tool_choice', 'toolchoice'], only: 'auto' },
  strict: { named: ['strict'], of: 'functions' },
  reasoning_content: { named: ['reasoning_content'], of: 'messages' },
  reasoning_details: { named: ['reasoning_details'], of: 'messages' },
  thinking_blocks: { named: ['thinking_blocks'], of: 'messages' },
  cache_control: { named: ['cache_control'], of: 'messages' },
  // With the option and without a mark, nothing would be cached: they are removed together.
  prompt_cache_breakpoint: { named: ['prompt_cache_breakpoint', 'prompt_cache_options'], of: 'messages' },
  developer: { named: ['developer'], of: 'messages' },
  // Without them, the text of the results describes the tools that were found.
  defer_loading: {
    named: [
      'defer_loading',
      'tool_reference',
      'tool reference',
      'tool_search',
      'tool_search_call',
      'tool_search_output',
      'namespace',
      'status',
    ],
    of: 'messages',
  },
}

/** Whether the request has a member that may be removed. Pure. */
export function hasMember(request: JsonObject, name: string): boolean {
  return withoutMember(request, name) !== request
}

/** Removes a member or renames it; returns the same request if it has no such member. Pure. */
export function withoutMember(request: JsonObject, name: string): JsonObject {
  const { of, becomes, only } = members[name] ?? {}
  if (name === 'defer_loading') return withoutDeferredTools(request)
  if (name === 'cache_control') {
    const plain = mapped(request, 'messages', (one) => withoutInMessage(one, name))
    return mapped(plain, 'tools', (tool) => without(tool, name))
  }
  if (name === 'prompt_cache_breakpoint')
    return mapped(without(request, 'prompt_cache_options'), 'messages', (one) => withoutInMessage(one, name))
  if (of === 'messages') return mapped(request, 'messages', (one) => withoutInMessage(one, name))
  if (of === 'functions') return withLooseFormat(mapped(request, 'tools', withoutStrict))
  const value = request[name]
  if (value === undefined || (only !== undefined && value !== only)) return request
  const { [name]: _left, ...rest } = request
  return becomes === undefined ? rest : { ...rest, [becomes]: rest[becomes] ?? value }
}

function mapped(request: JsonObject, list: string, change: (one: JsonObject) => JsonObject): JsonObject {
  const values = request[list]
  if (!Array.isArray(values)) return request
  const changed = values.map((one): JsonValue => (isJsonObject(one) ? change(one) : one))
  return changed.every((one, at) => one === values[at]) ? request : { ...request, [list]: changed }
}

function withoutInMessage(message: JsonObject, name: string): JsonObject {
  if (name === 'developer') return message['role'] === 'developer' ? { ...message, role: 'system' } : message
  const isMark = name === 'cache_control' || name === 'prompt_cache_breakpoint'
  const parts = isMark ? mapped(message, 'content', (part) => without(part, name)) : message
  return without(parts, name)
}

function withoutStrict(tool: JsonObject): JsonObject {
  const { function: made } = tool
  const plain = isJsonObject(made) ? without(made, 'strict') : made
  return plain === undefined || plain === made ? tool : { ...tool, function: plain }
}

function withLooseFormat(request: JsonObject): JsonObject {
  const { response_format: format } = request
  const schema = isJsonObject(format) ? format['json_schema'] : null
  if (!isJsonObject(format) || !isJsonObject(schema) || schema['strict'] !== true) return request
  return { ...request, response_format: { ...format, json_schema: { ...schema, strict: false } } }
}

function without(object: JsonObject, name: string): JsonObject {
  if (!(name in object)) return object
  const { [name]: _left, ...rest } = object
  return rest
}
