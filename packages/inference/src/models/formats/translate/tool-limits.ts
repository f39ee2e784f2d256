import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { badRequest } from '../json-body.ts'

/** What a provider accepts of the tools of a call. */
export interface ToolLimits {
  /** The most tools in one call; null if the provider states no limit. */
  readonly max: number | null
  /** Whether schemas may have only the keywords that Gemini documents. */
  readonly plainSchemas: boolean
}

/** The maximum number of tools in one call that most providers accept. */
const usualMax = 128
/** Limits by the end of the host name, as the providers document them or their error messages name them. */
const maxByHost: readonly (readonly [RegExp, number])[] = [
  [
    /(?:^|\.)(?:openai\.com|azure\.com|groq\.com|deepseek\.com|githubcopilot\.com|moonshot\.(?:ai|cn)|kimi\.com)$/,
    usualMax,
  ],
  [/(?:^|\.)x\.ai$/, 200],
  [/(?:^|\.)googleapis\.com$/, 512],
]
const maxByKind: Readonly<Record<string, number>> = { azure: usualMax, google: 512 }

/** Pure. */
export function toolLimitsOf({
  kind,
  baseUrl,
}: {
  readonly kind: string
  readonly baseUrl: string | null
}): ToolLimits {
  const host = baseUrl === null ? '' : new URL(baseUrl).hostname
  return {
    max: maxByKind[kind] ?? maxByHost.find(([hosts]) => hosts.test(host))?.[1] ?? null,
    plainSchemas: kind === 'openai-compatible' && /(?:^|\.)googleapis\.com$/.test(host),
  }
}

/** Throws the Problem `bad-request` for a program's call with more tools than the provider accepts. Pure. */
export function requireFewTools(request: JsonObject, max: number | null, provider: string): JsonObject {
  const { tools } = request
  if (max === null || !Array.isArray(tools) || tools.length <= max) return request
  throw badRequest(
    `tools: ${provider} accepts at most ${max} tools in one call, and this call has ${tools.length}; offer fewer, or use another model`,
  )
}

/** The most characters of names in the note about tools that are left out. */
const namesMaxChars = 1000

/**
 * Leaves out tools of an agent beyond the provider's limit: the tools that the conversation has called stay, then the
 * first ones in their order. So the choice is the same in each round until another tool is called. A note in the
 * system message names the others. Returns the same request if nothing changes. Pure.
 */
export function withFewTools(request: JsonObject, max: number | null): JsonObject {
  const { tools, messages } = request
  if (max === null || !Array.isArray(tools) || tools.length <= max) return request
  const called = calledNames(Array.isArray(messages) ? messages : [])
  const isCalled = (tool: JsonValue) => called.has(nameOf(tool))
  const chosen = new Set(
    [...tools.filter(isCalled), ...tools.filter((tool) => !isCalled(tool))].slice(0, max),
  )
  const left = tools.filter((tool) => !chosen.has(tool)).map(nameOf)
  return {
    ...request,
    tools: tools.filter((tool) => chosen.has(tool)),
    ...(Array.isArray(messages) ? { messages: noted(messages, max, left) } : {}),
  }
}

function calledNames(messages: readonly JsonValue[]): ReadonlySet<string> {
  const names = messages.flatMap((message) => {
    const calls = isJsonObject(message) ? message['tool_calls'] : null
    return Array.isArray(calls) ? calls.map(nameOf) : []
  })
  return new Set(names)
}

function nameOf(tool: JsonValue): string {
  const made = isJsonObject(tool) ? tool['function'] : null
  return isJsonObject(made) && typeof made['name'] === 'string' ? made['name'] : ''
}

function noted(messages: readonly JsonValue[], max: number, left: readonly string[]): JsonValue[] {
  const names = left.join(', ')
  const shown = names.length > namesMaxChars ? `${names.slice(0, namesMaxChars).toWellFormed()}…` : names
  const note = `[This model takes at most ${max} tools. Not available now: ${shown}]`
  const [first, ...rest] = messages
  if (!isJsonObject(first) || first['role'] !== 'system')
    return [{ role: 'system', content: note }, ...messages]
  const { content } = first
  const withNote = Array.isArray(content)
    ? [...content, { type: 'text', text: note }]
    : `${typeof content === 'string' ? content : ''}\n\n${note}`
  return [{ ...first, content: withNote }, ...rest]
}
