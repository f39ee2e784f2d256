import { findToolName } from '@flotilla/protocol/findable-tools'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonAsWritten, readJsonQuietly } from '@flotilla/foundation/intake'
import { badRequest } from '../../formats/json-body.ts'
import type { SdkMessage, SdkPart } from './chat-request.ts'
import { reasoningOfCalls, reasoningParts, sealsOfCalls } from './sdk-reasoning.ts'
import type { SdkRules } from './sdk-rules.ts'
import type { ToolNames } from './tool-names.ts'

interface PromptAt {
  readonly rules: SdkRules
  readonly names: ToolNames
  /** The deferred tools that results refer to; none if omitted. */
  readonly referredIn?: ReadonlyMap<SdkMessage, readonly string[]>
  /** The definitions of found tools, if calls of the search tool are sent as items of the provider's tool search. */
  readonly found?: ReadonlyMap<string, JsonObject> | null
}

interface At extends Required<PromptAt> {
  readonly callNames: ReadonlyMap<string, string>
  /** The found tools that a result of this conversation defines. */
  readonly defined: ReadonlySet<string>
}

/**
 * Converts a conversation for the AI SDK. Throws the Problem `bad-request` for content that it cannot carry. Pure.
 */
export function promptFromChat(
  messages: readonly SdkMessage[],
  { rules, names, referredIn = new Map(), found = null }: PromptAt,
): LanguageModelV4Prompt {
  const callNames = new Map<string, string>()
  const defined = new Set(found === null ? [] : [...referredIn.values()].flat())
  const at: At = { rules, names, referredIn, found, callNames, defined }
  const prompt: LanguageModelV4Message[] = []
  let notes: LanguageModelV4TextPart[] = []
  const endResults = () => {
    if (notes.length > 0) prompt.push({ role: 'user', content: notes })
    notes = []
  }
  for (const message of messages) {
    if (message.role !== 'tool') endResults()
    switch (message.role) {
      case 'system':
      case 'developer': {
        const instructions = systemMessages(message, rules)
        const begun = prompt.some(({ role }) => role !== 'system')
        // OpenAI takes instructions at any place.
        const isLate = begun && rules.hasItems !== true
        prompt.push(...(isLate ? instructions.map(asLateInstruction) : instructions))
        break
      }
      case 'user':
        prompt.push({ role: 'user', content: partsOf(message.content, rules) })
        break
      case 'assistant':
        for (const call of message.tool_calls ?? []) callNames.set(call.id, call.function.name)
        prompt.push(assistantMessage(message, at))
        break
      case 'tool': {
        const result = toolResult(message, at)
        if (hasNote(message, at)) notes.push(noteOf(message, at))
        const before = prompt.at(-1)
        // The AI SDK expects the tool results of one turn in one message.
        if (before?.role === 'tool') before.content.push(result)
        else prompt.push({ role: 'tool', content: [result] })
      }
    }
  }
  endResults()
  return prompt
}

/** Whether what a result says follows the results: neither references nor definitions can have text beside them. */
function hasNote(message: SdkMessage, at: At): boolean {
  return (at.referredIn.get(message) ?? []).length > 0 || isSearch(message.tool_call_id ?? '', at)
}

function isSearch(callId: string, { found, callNames }: At): boolean {
  return found !== null && callNames.get(callId) === findToolName
}

function noteOf(message: SdkMessage, at: At): LanguageModelV4TextPart {
  const { tool_call_id: id, found_tools: found } = message
  const isReferred = (at.referredIn.get(message) ?? []).length > 0
  const said = isReferred ? (found?.note ?? '') : textOf(message.content)
  // A definition cannot have the mark of its result.
  const mark = at.found === null ? {} : marked(markOfLast(message) ?? {}, at.rules)
  return { type: 'text', text: `[Result of call ${at.names.id(id ?? '')}] ${said}`, ...mark }
}

function textOf(content: SdkMessage['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('\n')
}

/** Splits instructions with cache marks into one message per part, because the AI SDK attaches marks to messages. */
function systemMessages(message: SdkMessage, rules: SdkRules): LanguageModelV4Message[] {
  const { content } = message
  if (typeof content === 'string') return content === '' ? [] : [{ role: 'system', content }]
  const parts = (content ?? []).filter((part) => (part.text ?? '') !== '')
  if (!parts.some((part) => part.cache_control ?? part.prompt_cache_breakpoint)) {
    const text = parts.map((part) => part.text ?? '').join('\n\n')
    return text === '' ? [] : [{ role: 'system', content: text }]
  }
  return parts.map((part) => ({ role: 'system', content: part.text ?? '', ...marked(part, rules) }))
}

/** Converts a later instruction to a marked user message: several providers accept instructions only at the start. */
function asLateInstruction(message: LanguageModelV4Message): LanguageModelV4Message {
  const text = message.role === 'system' ? message.content : ''
  return { role: 'user', content: [{ type: 'text', text: `[Instruction of the system] ${text}` }] }
}

function assistantMessage(message: SdkMessage, at: At): LanguageModelV4Message {
  const { rules, names } = at
  const details = message.reasoning_details
  const seals = sealsOfCalls(details, rules)
  const thoughts = reasoningOfCalls(details, rules)
  const texts = partsOf(message.content, rules).filter((part) => part.type === 'text')
  const [firstText] = texts
  if (firstText && seals.text) firstText.providerOptions = seals.text
  const phase = (message.tool_calls ?? []).length > 0 ? 'commentary' : 'final_answer'
  if (rules.hasPhases === true)
    for (const part of texts) part.providerOptions = { [rules.options]: { phase } }
  const calls = (message.tool_calls ?? []).flatMap((call) => {
    const own = seals.byCall.get(call.id) ?? itemOptions(call, at)
    const written = parsedInput(call.function.arguments)
    const made = {
      type: 'tool-call' as const,
      toolCallId: names.id(call.id),
      toolName: names.out(call.function.name),
      input: isSearch(call.id, at) ? { arguments: written, call_id: names.id(call.id) } : written,
      ...(own ? { providerOptions: own } : marked(call, rules)),
    }
    return [...(thoughts.get(call.id) ?? []), made]
  })
  return { role: 'assistant', content: [...reasoningParts(details, rules), ...texts, ...calls] }
}

/**
 * Returns what the provider expects beside a call: a search has an id of its own kind, and a tool that a search found is
 * in a namespace of its own name.
 */
function itemOptions(
  call: { readonly id: string; readonly function: { readonly name: string } },
  at: At,
): SharedV4ProviderOptions | null {
  const { rules, names, defined } = at
  if (isSearch(call.id, at)) return { [rules.options]: { itemId: `tsc_${names.id(call.id)}` } }
  if (!defined.has(call.function.name)) return null
  return { [rules.options]: { namespace: names.out(call.function.name) } }
}

function toolResult(message: SdkMessage, at: At): LanguageModelV4ToolResultPart {
  const id = message.tool_call_id ?? ''
  const name = at.callNames.get(id)
  if (name === undefined) throw badRequest(`messages: no tool call has the id ${id.slice(0, 100)}`)
  return {
    type: 'tool-result',
    toolCallId: at.names.id(id),
    toolName: at.names.out(name),
    output: resultOf(message, at),
    ...marked(message.cache_control ? message : (markOfLast(message) ?? {}), at.rules),
  }
}

function resultOf(message: SdkMessage, at: At): LanguageModelV4ToolResultPart['output'] {
  const referred = at.referredIn.get(message) ?? []
  if (isSearch(message.tool_call_id ?? '', at)) {
    const tools = referred.flatMap((name) => at.found?.get(name) ?? [])
    return { type: 'json', value: { tools } as JSONValue }
  }
  return referred.length > 0 ? references(referred, at.names) : outputOf(message, at.rules)
}

function references(referred: readonly string[], names: ToolNames): LanguageModelV4ToolResultPart['output'] {
  return {
    type: 'content',
    value: referred.map((name) => ({
      type: 'custom',
      providerOptions: { anthropic: { type: 'tool-reference', toolName: names.out(name) } },
    })),
  }
}

/** Returns the last part, whose cache mark covers the whole result. */
function markOfLast({ content }: SdkMessage): SdkPart | null {
  return Array.isArray(content) ? (content.at(-1) ?? null) : null
}

function outputOf(message: SdkMessage, rules: SdkRules): LanguageModelV4ToolResultPart['output'] {
  const parts = partsOf(message.content, rules)
  if (parts.every((part) => part.type === 'text')) {
    const value = parts.map((part) => part.text).join('\n')
    return { type: message.is_error === true ? 'error-text' : 'text', value }
  }
  // Only a provider with items takes options on the parts of a result.
  const own = (part: { readonly providerOptions?: SharedV4ProviderOptions }) =>
    rules.hasItems === true && part.providerOptions ? { providerOptions: part.providerOptions } : {}
  return {
    type: 'content',
    value: parts.map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text, ...own(part) }
        : { type: 'file', data: part.data, mediaType: part.mediaType, ...own(part) },
    ),
  }
}

function partsOf(
  content: SdkMessage['content'],
  rules: SdkRules,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) => partOf(part, rules))
}

function partOf(part: SdkPart, rules: SdkRules): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const own = marked(part, rules)
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text ?? part.refusal ?? '', ...own }
    case 'image_url': {
      const url = typeof part.image_url === 'string' ? part.image_url : (part.image_url?.url ?? '')
      const detail = typeof part.image_url === 'string' ? null : part.image_url?.detail
      return { ...filePart(url, 'image', rules), ...withDetail(own, detail, rules) }
    }
    case 'file': {
      const { file_data: data, filename } = part.file ?? {}
      if (!data) throw badRequest('messages: a file must come with its file_data')
      return { ...filePart(data, 'application/pdf', rules), ...(filename ? { filename } : {}), ...own }
    }
    case 'input_audio': {
      const { data, format } = part.input_audio ?? {}
      return {
        type: 'file',
        mediaType: `audio/${format === 'mp3' ? 'mpeg' : (format ?? 'wav')}`,
        data: { type: 'data', data: data ?? '' },
        ...own,
      }
    }
    default:
      throw badRequest(`messages: a part of type ${part.type} cannot be sent to this model`)
  }
}

/** Adds how exactly the model looks at a picture; only a provider with items takes it. */
function withDetail(
  own: { providerOptions?: SharedV4ProviderOptions },
  detail: string | null | undefined,
  { hasItems, options }: SdkRules,
): { providerOptions?: SharedV4ProviderOptions } {
  if (hasItems !== true || !detail) return own
  return { providerOptions: { [options]: { ...own.providerOptions?.[options], imageDetail: detail } } }
}

const dataUrl = /^data:([^;,]*)(?:;[^,]*?)?;base64,/

function filePart(url: string, kind: string, rules: SdkRules): LanguageModelV4FilePart {
  const head = dataUrl.exec(url)
  if (head) {
    return {
      type: 'file',
      mediaType: head[1] || kind,
      data: { type: 'data', data: url.slice(head[0].length) },
    }
  }
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    throw badRequest('messages: a picture or file is an https address or a data: address in base64')
  }
  if (!rules.imagesByUrl) {
    throw badRequest('messages: this model takes pictures and files as data: addresses in base64 only')
  }
  return { type: 'file', mediaType: kind, data: { type: 'url', url: new URL(url) } }
}

/** Converts a client's cache mark, which asks the provider to cache the prompt up to the mark. */
export function marked(
  at: {
    readonly cache_control?: SdkPart['cache_control']
    readonly prompt_cache_breakpoint?: SdkPart['prompt_cache_breakpoint']
  },
  rules: SdkRules,
): { providerOptions?: SharedV4ProviderOptions } {
  if (rules.hasItems === true && at.prompt_cache_breakpoint)
    return { providerOptions: { [rules.options]: { promptCacheBreakpoint: { mode: 'explicit' } } } }
  const mark = at.cache_control
  if (!mark) return {}
  const ttl = mark.ttl === undefined || mark.ttl === null ? {} : { ttl: mark.ttl }
  if (rules.options === 'anthropic') {
    return { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ...ttl } } } }
  }
  if (rules.options === 'bedrock') {
    return { providerOptions: { bedrock: { cachePoint: { type: 'default', ...ttl } } } }
  }
  // All other providers cache without marks.
  return {}
}

/** Parses tool arguments; text that is not a JSON object is sent back as `invalid_json`. */
function parsedInput(text: string): unknown {
  if (text.trim() === '') return {}
  const value = readJsonQuietly(text, jsonLimits.modelBody)
  // The package only prints the value again, so numbers must keep their digits.
  return isJsonObject(value) ? readJsonAsWritten(text, jsonLimits.modelBody) : { invalid_json: text }
}
