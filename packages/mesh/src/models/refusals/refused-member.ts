import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '../../intake/index.ts'
import { readRefusal } from './read-refusal.ts'

/** A request member that may be removed or renamed if a provider rejects it. */
interface Member {
  /** Its names in refusals, in lower case; the member's own name comes first. */
  readonly named: readonly string[]
  /** The name under which the value is sent instead. */
  readonly becomes?: string
  /** The objects in the request that have this member; omitted for a member of the request itself. */
  readonly of?: 'messages' | 'functions'
}

/**
 * Hints and bounds whose removal keeps the meaning of the answer. Members that limit its content, such as `stop` and
 * `response_format`, are not listed: without them the caller would get another answer than requested.
 */
const members: Readonly<Record<string, Member>> = {
  max_tokens: { named: ['max_tokens', 'maxtokens'], becomes: 'max_completion_tokens' },
  max_completion_tokens: { named: ['max_completion_tokens'], becomes: 'max_tokens' },
  temperature: { named: ['temperature'] },
  top_p: { named: ['top_p', 'topp'] },
  top_k: { named: ['top_k', 'topk'] },
  seed: { named: ['seed', 'random_seed'] },
  presence_penalty: { named: ['presence_penalty', 'presencepenalty'] },
  frequency_penalty: { named: ['frequency_penalty', 'frequencypenalty'] },
  logit_bias: { named: ['logit_bias'] },
  user: { named: ['user'] },
  prompt_cache_key: { named: ['prompt_cache_key'] },
  parallel_tool_calls: { named: ['parallel_tool_calls', 'disable_parallel_tool_use'] },
  stream_options: { named: ['stream_options', 'include_usage'] },
  reasoning_effort: {
    named: ['reasoning_effort', 'reasoning.effort', 'output_config', 'effort', 'thinking', 'reasoning'],
  },
  reasoning: { named: ['reasoning', 'thinking'] },
  tool_choice: { named: ['tool_choice', 'toolchoice'] },
  strict: { named: ['strict'], of: 'functions' },
  reasoning_content: { named: ['reasoning_content'], of: 'messages' },
  reasoning_details: { named: ['reasoning_details'], of: 'messages' },
  thinking_blocks: { named: ['thinking_blocks'], of: 'messages' },
  cache_control: { named: ['cache_control'], of: 'messages' },
  developer: { named: ['developer'], of: 'messages' },
}

/** Words that reject a member itself, and not the value of a required member. */
const refusing =
  /unsupported|not (?:currently )?support|n't support|unrecogni[sz]ed|unknown (?:parameter|field|argument|name|property|variant)|extra inputs? (?:is|are) not permitted|extra_forbidden|unexpected (?:keyword|field|property|message role|role)|not (?:allowed|permitted|accepted|available)|deprecated|additional propert|cannot (?:both )?be (?:both )?(?:used|set|specified)|can only be (?:used|set)|may only be|only the default|no such (?:field|parameter)|does not (?:accept|take)|is not a valid (?:parameter|role)|invalid (?:parameter|role)|only allowed when|requires --enable/i

/**
 * The member of this request that a refusal names as unsupported; null if the refusal names none or a required one.
 * Members in `lost` are removed already. Pure.
 */
export function refusedMember(
  refusal: string,
  request: JsonObject,
  lost: ReadonlySet<string>,
): string | null {
  const { message, codes } = readRefusal(refusal, { status: 400, provider: '', host: '' })
  // A schema that the provider does not take in strict mode is taken without it.
  if (!lost.has('strict') && hasMember(request, 'strict') && refusesSchema(message, codes)) return 'strict'
  const isRefused =
    refusing.test(message) ||
    codes.some((code) => /^unsupported_(?:parameter|value)$|^extra_forbidden$/.test(code))
  if (!isRefused) return null
  const param = paramIn(refusal)
  const places = Object.entries(members).flatMap(([name, member]) => {
    const isThere = !lost.has(name) && !lost.has(member.becomes ?? '') && hasMember(request, name)
    const at = isThere ? placeOf(member.named, param, message.toLowerCase()) : -1
    return at === -1 ? [] : [{ name, at }]
  })
  return places.toSorted((a, b) => a.at - b.at)[0]?.name ?? null
}

function refusesSchema(message: string, codes: readonly string[]): boolean {
  return (
    codes.some((code) => /^invalid_(?:json_schema|function_parameters)$/.test(code)) ||
    /invalid (?:json )?schema|schema.{0,80}(?:strict|not supported|unsupported|is not permitted|must be false)|additionalproperties'? is required/i.test(
      message,
    )
  )
}

/** The position of the name in a refusal: 0 if `param` names it, else the place in the message; -1 if absent. */
function placeOf(named: readonly string[], param: string, message: string): number {
  if (named.some((name) => param === name || param.endsWith(`.${name}`))) return 0
  const places = named.flatMap((name) => {
    const at = message.search(
      new RegExp(String.raw`(?<![a-z0-9_])${name.replace('.', String.raw`\.`)}(?![a-z0-9_])`),
    )
    // "user" is a common word, and a role.
    return at === -1 || (name === 'user' && !/['"\x60]user['"\x60]|parameter:? user/.test(message))
      ? []
      : [at + 1]
  })
  return places.length === 0 ? -1 : Math.min(...places)
}

/** The member that a refusal names in `param`, or at the end of FastAPI's `loc`. */
function paramIn(refusal: string): string {
  const body = readJsonQuietly(refusal, jsonLimits.serverReply)
  if (!isJsonObject(body)) return ''
  const error = isJsonObject(body['error']) ? body['error'] : body
  const [detail] = Array.isArray(body['detail']) ? body['detail'] : []
  const loc = isJsonObject(detail) && Array.isArray(detail['loc']) ? detail['loc'].at(-1) : null
  const param = error['param'] ?? loc
  return typeof param === 'string' ? param.toLowerCase() : ''
}

function hasMember(request: JsonObject, name: string): boolean {
  return withoutMember(request, name) !== request
}

/** Removes a member or renames it; returns the same request if it has no such member. Pure. */
export function withoutMember(request: JsonObject, name: string): JsonObject {
  const { of, becomes } = members[name] ?? {}
  if (name === 'cache_control') {
    const plain = mapped(request, 'messages', (one) => withoutInMessage(one, name))
    return mapped(plain, 'tools', (tool) => without(tool, name))
  }
  if (of === 'messages') return mapped(request, 'messages', (one) => withoutInMessage(one, name))
  if (of === 'functions') return withLooseFormat(mapped(request, 'tools', withoutStrict))
  const value = request[name]
  if (value === undefined) return request
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
  const parts = name === 'cache_control' ? mapped(message, 'content', (part) => without(part, name)) : message
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
