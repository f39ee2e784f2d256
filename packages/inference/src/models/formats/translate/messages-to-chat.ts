import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { parseFirst } from '@flotilla/foundation/intake'
import { badRequest } from '../json-body.ts'
import { messagesRequestSchema } from '../messages-request.ts'
import type { ContentBlock, MessagesRequest } from '../messages-request.ts'
import { reasoningFromBlock } from './reasoning-details.ts'

/**
 * Translates a request of `/v1/messages` to `/v1/chat/completions`. Members without a counterpart stay as
 * `cache_control`, `reasoning_details`, `is_error`, `top_k` and `reasoning`; `fit-chat` removes them for providers
 * that do not know them. Throws the Problem `bad-request` for content that no chat can carry. Pure.
 */
export function chatFromMessages(body: JsonObject): JsonObject {
  const parsed = parseFirst(messagesRequestSchema, body)
  if (!parsed.success) throw badRequest(parsed.error.issues[0]?.message ?? 'not of the expected form')
  const request = parsed.data
  return present({
    model: request.model,
    messages: [...systemMessage(request), ...request.messages.flatMap(chatMessages)],
    max_tokens: body['max_tokens'],
    temperature: body['temperature'],
    top_p: body['top_p'],
    top_k: body['top_k'],
    stop: request.stop_sequences?.length ? request.stop_sequences : undefined,
    ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    tools: request.tools?.length ? request.tools.map(chatTool) : undefined,
    tool_choice: toolChoice(request.tool_choice),
    parallel_tool_calls: request.tool_choice?.disable_parallel_tool_use === true ? false : undefined,
    response_format: responseFormat(request),
    ...reasoning(request),
    user: request.metadata?.user_id ?? undefined,
  })
}

function systemMessage({ system }: MessagesRequest): JsonObject[] {
  if (system === null || system === undefined) return []
  if (typeof system === 'string') return [{ role: 'system', content: system }]
  if (system.length === 0) return []
  if (!system.some((block) => block.cache_control)) {
    return [{ role: 'system', content: system.map((block) => block.text).join('\n\n') }]
  }
  return [{ role: 'system', content: system.map((block) => textPart(block.text, block['cache_control'])) }]
}

function chatMessages({ role, content }: MessagesRequest['messages'][number]): JsonObject[] {
  if (typeof content === 'string') return [{ role, content }]
  if (role === 'assistant') {
    // Providers reject a message of the model that has neither words nor calls, as thinking alone would be.
    const isSaying = content.some(({ type }) => type === 'text' || type === 'tool_use')
    return isSaying ? [assistantMessage(content)] : []
  }
  // Tool results come first, because a chat completion needs them directly after the calls.
  const results = content.filter((block) => block.type === 'tool_result').map(toolMessage)
  const parts = content.filter((block) => block.type !== 'tool_result').flatMap(userPart)
  return parts.length === 0 ? results : [...results, { role, content: plainIfText(parts) }]
}

function assistantMessage(blocks: readonly ContentBlock[]): JsonObject {
  const details = blocks.flatMap((block) => reasoningFromBlock(block) ?? [])
  const texts = blocks.filter((block) => block.type === 'text')
  const calls = blocks.filter((block) => block.type === 'tool_use')
  return present({
    role: 'assistant',
    content:
      texts.length === 0
        ? null
        : plainIfText(texts.map((block) => textPart(block.text ?? '', block.cache_control))),
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((block) =>
            present({
              id: block.id ?? '',
              type: 'function',
              function: { name: block.name ?? '', arguments: JSON.stringify(block.input ?? {}) },
              cache_control: json(block.cache_control),
            }),
          ),
  })
}

function toolMessage(block: ContentBlock): JsonObject {
  const { content } = block
  const parts = Array.isArray(content) ? content.flatMap((inner) => userPart(inner)) : []
  return present({
    role: 'tool',
    tool_call_id: block.tool_use_id ?? '',
    content: typeof content === 'string' ? content : plainIfText(parts),
    is_error: block.is_error === true ? true : undefined,
    cache_control: json(block.cache_control),
  })
}

function userPart(block: ContentBlock): JsonObject[] {
  const cache = block.cache_control
  if (block.type === 'text') return [textPart(block.text ?? '', cache)]
  if (block.type === 'image') {
    return [present({ type: 'image_url', image_url: { url: sourceUrl(block) }, cache_control: json(cache) })]
  }
  if (block.type === 'document') return [documentPart(block)]
  // A chat completion lists all tools at the beginning.
  if (block.type === 'tool_reference')
    return [textPart(`[The tool ${block.tool_name ?? ''} is in the list of tools.]`, cache)]
  throw badRequest(`messages: a block of type ${block.type} cannot be sent to this model`)
}

function documentPart(block: ContentBlock): JsonObject {
  const source = typeof block.source === 'object' ? block.source : null
  const cache = json(block.cache_control)
  if (source?.type === 'text') return textPart(stringIn(source, 'data'), block.cache_control)
  const file = present({ filename: block.title ?? 'document.pdf', file_data: sourceUrl(block) })
  return present({ type: 'file', file, cache_control: cache })
}

function sourceUrl({ type, source: from }: ContentBlock): string {
  const source = typeof from === 'object' ? from : null
  if (source?.type === 'base64') {
    return `data:${stringIn(source, 'media_type')};base64,${stringIn(source, 'data')}`
  }
  if (source?.type === 'url') return stringIn(source, 'url')
  throw badRequest(`messages: a ${type} by ${source?.type ?? 'no source'} cannot be sent to this model`)
}

function chatTool(tool: NonNullable<MessagesRequest['tools']>[number]): JsonObject {
  if (tool.type !== null && tool.type !== undefined && tool.type !== 'custom') {
    throw badRequest(`tools: ${tool.name} (${tool.type}) is known to Anthropic's own models only`)
  }
  return present({
    type: 'function',
    function: present({
      name: tool.name,
      description: tool.description ?? undefined,
      parameters: json(tool.input_schema) ?? { type: 'object', properties: {} },
      strict: tool.strict === true ? true : undefined,
    }),
    cache_control: json(tool.cache_control),
  })
}

function toolChoice(choice: MessagesRequest['tool_choice']): JsonValue | undefined {
  switch (choice?.type) {
    case undefined:
      return undefined
    case 'any':
      return 'required'
    case 'none':
      return 'none'
    case 'tool':
      return { type: 'function', function: { name: choice.name ?? '' } }
    default:
      return 'auto'
  }
}

function responseFormat(request: MessagesRequest): JsonValue | undefined {
  const format = request.output_config?.format ?? request.output_format
  if (format?.type !== 'json_schema') return undefined
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', strict: true, schema: json(format.schema) ?? {} },
  }
}

/** Converts a thinking budget in tokens to a reasoning effort. */
function reasoning({ thinking, output_config: output }: MessagesRequest): JsonObject {
  const effort = output?.effort ?? undefined
  if (thinking?.type === 'disabled') return { reasoning: { enabled: false } }
  const budget = thinking?.budget_tokens
  if (typeof budget === 'number') {
    const byBudget = budget <= 2048 ? 'low' : budget <= 8192 ? 'medium' : 'high'
    return { reasoning: { max_tokens: budget }, reasoning_effort: effort ?? byBudget }
  }
  if (thinking?.type === 'adaptive')
    return { reasoning: { enabled: true }, reasoning_effort: effort ?? 'medium' }
  return effort === undefined ? {} : { reasoning_effort: effort }
}

function textPart(text: string, cacheControl: unknown): JsonObject {
  return present({ type: 'text', text, cache_control: json(cacheControl) })
}

/** Returns a single text without a cache mark as a string, which every server accepts; otherwise the parts. */
export function plainIfText(parts: readonly JsonObject[]): JsonValue {
  const [only] = parts
  if (only === undefined) return ''
  if (parts.some((part) => part['type'] !== 'text' || 'cache_control' in part)) return [...parts]
  return parts.length === 1 ? (only['text'] ?? '') : [...parts]
}

function stringIn(source: Readonly<Record<string, unknown>>, name: string): string {
  const value = source[name]
  return typeof value === 'string' ? value : ''
}

/** Casts a value to JSON; this is safe, because the value was JSON before zod parsed it. */
function json(value: unknown): JsonValue | undefined {
  return (value ?? undefined) as JsonValue | undefined
}

/** Returns the object without its undefined members. */
export function present(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(object).filter(
    (entry): entry is [string, JsonValue] => entry[1] !== undefined,
  )
  return Object.fromEntries(entries)
}
