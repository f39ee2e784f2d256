import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { plainIfText, present } from '../translate/messages-to-chat.ts'
import { reasoningFromItem } from './response-reasoning.ts'
import { customArguments } from './response-tools.ts'
import type { ResponseTools } from './response-tools.ts'

/**
 * Translates a request of `/v1/responses`, as `response-form.ts` reads it, to `/v1/chat/completions`. Members without
 * a counterpart stay as `reasoning_details` and `reasoning`; `fit-chat` removes them for providers that do not know
 * them. Pure.
 */
export function chatFromResponse(request: JsonObject, tools: ResponseTools): JsonObject {
  const { reasoning, text, tool_choice: choice, max_output_tokens: bound } = request
  return present({
    model: request['model'],
    messages: [...instructions(request), ...messagesOf(request['input'], tools)],
    max_tokens: bound,
    temperature: request['temperature'],
    top_p: request['top_p'],
    ...(request['stream'] === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    tools: tools.chatTools.length === 0 ? undefined : [...tools.chatTools],
    tool_choice: tools.chatTools.length === 0 ? undefined : toolChoice(choice, tools),
    parallel_tool_calls: tools.chatTools.length === 0 ? undefined : request['parallel_tool_calls'],
    response_format: responseFormat(text),
    ...effortOf(reasoning),
    user: request['user'],
  })
}

/** Instructions and the first messages of the developer become one system message, which every server accepts. */
function instructions({ instructions: first, input }: JsonObject): JsonObject[] {
  const texts = typeof first === 'string' && first !== '' ? [first] : []
  for (const item of leadingInstructions(input)) texts.push(textOf(item['content']))
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }]
}

function leadingInstructions(input: JsonValue | undefined): JsonObject[] {
  const leading: JsonObject[] = []
  for (const item of Array.isArray(input) ? input : []) {
    if (!isJsonObject(item) || !isInstruction(item)) break
    leading.push(item)
  }
  return leading
}

function isInstruction(item: JsonObject): boolean {
  return item['role'] === 'developer' || item['role'] === 'system'
}

function messagesOf(input: JsonValue | undefined, tools: ResponseTools): JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const items = (Array.isArray(input) ? input : []).filter(isJsonObject)
  const messages: JsonObject[] = []
  let turn: AssistantTurn | null = null
  function endTurn(): void {
    // Providers reject a message of the model that has neither words nor calls, as thinking alone would be.
    if (turn !== null && turn.parts.length + turn.calls.length > 0) messages.push(assistantMessage(turn))
    turn = null
  }
  for (const item of items.slice(leadingInstructions(input).length)) {
    const type = item['type'] ?? 'message'
    if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      endTurn()
      messages.push({
        role: 'tool',
        tool_call_id: item['call_id'] ?? '',
        content: contentOf(item['output']),
      })
    } else if (type === 'message' && item['role'] !== 'assistant') {
      endTurn()
      // Many servers refuse a system message that is not the first.
      messages.push({ role: 'user', content: contentOf(item['content']) })
    } else addToTurn((turn ??= { details: [], parts: [], calls: [] }), item, tools)
  }
  endTurn()
  return messages
}

/** The items of one answer, which a chat completion carries in one message. */
interface AssistantTurn {
  readonly details: JsonObject[]
  readonly parts: JsonObject[]
  readonly calls: JsonObject[]
}

function addToTurn(turn: AssistantTurn, item: JsonObject, tools: ResponseTools): void {
  const { type } = item
  if (type === 'reasoning') {
    const detail = reasoningFromItem(item)
    if (detail !== null) turn.details.push(detail)
  } else if (type === 'function_call' || type === 'custom_tool_call') {
    const namespace = typeof item['namespace'] === 'string' ? item['namespace'] : null
    const name = tools.chatNameOf(stringIn(item, 'name'), namespace)
    const text =
      type === 'function_call' ? stringIn(item, 'arguments') : customArguments(stringIn(item, 'input'))
    turn.calls.push({ id: item['call_id'] ?? '', type: 'function', function: { name, arguments: text } })
  } else turn.parts.push(...partsOf(item['content']))
}

function assistantMessage({ details, parts, calls }: AssistantTurn): JsonObject {
  return present({
    role: 'assistant',
    content: parts.length === 0 ? null : plainIfText(parts),
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls: calls.length === 0 ? undefined : calls,
  })
}

function contentOf(content: JsonValue | undefined): JsonValue {
  return typeof content === 'string' ? content : plainIfText(partsOf(content))
}

function textOf(content: JsonValue | undefined): string {
  return partsOf(content)
    .map((part) => stringIn(part, 'text'))
    .join('\n\n')
}

function partsOf(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (Array.isArray(content) ? content : []).filter(isJsonObject).map((part) => {
    if (part['type'] === 'input_image') {
      const image = present({ url: part['image_url'], detail: part['detail'] ?? undefined })
      return { type: 'image_url', image_url: image }
    }
    if (part['type'] === 'input_file') {
      return {
        type: 'file',
        file: { filename: part['filename'] ?? 'document.pdf', file_data: part['file_data'] ?? '' },
      }
    }
    return { type: 'text', text: part['text'] ?? part['refusal'] ?? '' }
  })
}

function toolChoice(choice: JsonValue | undefined, tools: ResponseTools): JsonValue | undefined {
  if (!isJsonObject(choice)) return choice
  return { type: 'function', function: { name: tools.chatNameOf(stringIn(choice, 'name'), null) } }
}

function responseFormat(text: JsonValue | undefined): JsonValue | undefined {
  const format = isJsonObject(text) ? text['format'] : undefined
  if (!isJsonObject(format) || format['type'] === 'text') return undefined
  if (format['type'] !== 'json_schema') return { type: 'json_object' }
  const { type: _type, ...schema } = format
  return { type: 'json_schema', json_schema: schema }
}

function effortOf(reasoning: JsonValue | undefined): JsonObject {
  const effort = isJsonObject(reasoning) ? reasoning['effort'] : undefined
  if (typeof effort !== 'string') return {}
  if (effort === 'none') return { reasoning: { enabled: false } }
  return { reasoning: { enabled: true, effort }, reasoning_effort: effort }
}

function stringIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}
