import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { plainIfText, present } from '../translate/messages-to-chat.ts'
import { contentsBoundField } from './contents-parameters.ts'
import { firstSchema } from './contents-schema.ts'
import { createSealReader } from './contents-seal.ts'
import type { SealReader } from './contents-seal.ts'

/**
 * Translates a call of `generateContent`, as `contents-form.ts` reads it, to `/v1/chat/completions`. Members without a
 * counterpart stay as `reasoning_details`, `top_k` and `reasoning`; `fit-chat` removes them for providers that do not
 * know them. Pure.
 */
export function chatFromContents(request: JsonObject): JsonObject {
  const config = objectIn(request, 'generationConfig')
  const choice = objectIn(objectIn(request, 'toolConfig'), 'functionCallingConfig')
  const tools = chatTools(request['tools'], choice)
  return present({
    model: request['model'],
    messages: [...systemMessage(request['systemInstruction']), ...chatMessages(request['contents'])],
    max_tokens: request[contentsBoundField],
    temperature: config['temperature'],
    top_p: config['topP'],
    top_k: config['topK'],
    seed: config['seed'],
    presence_penalty: config['presencePenalty'],
    frequency_penalty: config['frequencyPenalty'],
    stop: listIn(config, 'stopSequences').length === 0 ? undefined : config['stopSequences'],
    ...(request['stream'] === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : toolChoice(choice),
    response_format: responseFormat(config),
    ...reasoningOf(objectIn(config, 'thinkingConfig')),
  })
}

/** Whether the client asked for the thinking as parts of the answer. Pure. */
export function asksForThoughts(request: JsonObject): boolean {
  const config = objectIn(objectIn(request, 'generationConfig'), 'thinkingConfig')
  return config['includeThoughts'] === true
}

function systemMessage(instruction: JsonValue | undefined): JsonObject[] {
  const texts = partsOf(instruction).map((part) => textIn(part, 'text'))
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }]
}

interface NamedCall {
  readonly id: string
  readonly name: string
}

/** The calls of one turn, which may be several contents of the model. */
interface OpenCalls {
  add(calls: readonly NamedCall[]): void
  /** Returns the id of the call that a result belongs to: by its id, else the first of this name without a result. */
  answer(result: JsonObject): string
}

function openCalls(): OpenCalls {
  const open = new Set<string>()
  const byName = new Map<string, { readonly ids: string[]; next: number }>()
  return {
    add(calls) {
      for (const { id, name } of calls) {
        open.add(id)
        const waiting = byName.get(name)
        if (waiting) waiting.ids.push(id)
        else byName.set(name, { ids: [id], next: 0 })
      }
    },
    answer(result) {
      const given = textIn(result, 'id')
      if (open.delete(given)) return given
      const waiting = byName.get(textIn(result, 'name'))
      if (waiting === undefined) return given
      while (waiting.next < waiting.ids.length) {
        const id = waiting.ids[waiting.next++]
        if (id !== undefined && open.delete(id)) return id
      }
      return given
    },
  }
}

function chatMessages(contents: JsonValue | undefined): JsonObject[] {
  const messages: JsonObject[] = []
  const usedIds = new Set<string>()
  const statedIds = idsIn(contents)
  const seals = createSealReader()
  let open = openCalls()
  let unnamed = 0
  function callId(given: string): string {
    let id = given
    if (id === '' || usedIds.has(id)) {
      do id = `call_${++unnamed}`
      while (statedIds.has(id))
    }
    usedIds.add(id)
    return id
  }
  for (const { role, parts } of turnsIn(contents)) {
    if (role === 'model') {
      const turn = assistantMessage(parts, { callId, seals })
      if (turn === null) continue
      open = openCalls()
      open.add(turn.calls)
      messages.push(turn.message)
      continue
    }
    // Results come first, because a chat completion needs them directly after the calls.
    const results = parts.flatMap((part) => part['functionResponse'] ?? []).filter(isJsonObject)
    for (const result of results) {
      messages.push({ role: 'tool', tool_call_id: open.answer(result), content: resultContent(result) })
    }
    const said = parts.flatMap(userPart)
    if (said.length > 0) messages.push({ role: 'user', content: plainIfText(said) })
  }
  return messages
}

interface Turn {
  readonly role: JsonValue | undefined
  readonly parts: JsonObject[]
}

/**
 * Returns the contents, those of the model in a row as one: clients store each piece of a stream as a content, and most
 * providers reject two answers in a row.
 */
function turnsIn(contents: JsonValue | undefined): readonly Turn[] {
  const turns: Turn[] = []
  for (const content of objectsIn(contents)) {
    const { role } = content
    const parts = partsOf(content)
    const last = turns.at(-1)
    if (role === 'model' && last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts })
  }
  return turns
}

/** Returns the ids that calls and results state anywhere, so that no made id equals a later one. */
function idsIn(contents: JsonValue | undefined): ReadonlySet<string> {
  const parts = objectsIn(contents).flatMap(partsOf)
  return new Set(
    parts.flatMap((part) => [
      textIn(objectIn(part, 'functionCall'), 'id'),
      textIn(objectIn(part, 'functionResponse'), 'id'),
    ]),
  )
}

function assistantMessage(
  parts: readonly JsonObject[],
  { callId, seals }: { readonly callId: (given: string) => string; readonly seals: SealReader },
): { readonly message: JsonObject; readonly calls: readonly NamedCall[] } | null {
  const details: JsonObject[] = []
  const texts: JsonObject[] = []
  const calls: NamedCall[] = []
  const chatCalls: JsonObject[] = []
  for (const part of parts) {
    const called = part['functionCall']
    let id: string | null = null
    if (isJsonObject(called)) {
      id = callId(textIn(called, 'id'))
      const name = textIn(called, 'name')
      calls.push({ id, name })
      const text = JSON.stringify(called['args'] ?? {})
      chatCalls.push({ id, type: 'function', function: { name, arguments: text } })
    }
    const seal = textIn(part, 'thoughtSignature')
    if (seal !== '') details.push(...seals.detailsOf(seal, id))
    // The signature that follows has the thinking, exactly as its provider signed it.
    const text = part['thought'] === true ? '' : textIn(part, 'text')
    if (text !== '') texts.push({ type: 'text', text })
  }
  // Providers reject a message of the model that has neither words nor calls, as thinking alone would be.
  if (texts.length + calls.length === 0) return null
  const message = present({
    role: 'assistant',
    content: texts.length === 0 ? null : plainIfText([joined(texts)]),
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls: chatCalls.length === 0 ? undefined : chatCalls,
  })
  return { message, calls }
}

/** A client stores each piece of a stream as a part, so the parts of a turn are one text. */
function joined(texts: readonly JsonObject[]): JsonObject {
  return { type: 'text', text: texts.map((part) => textIn(part, 'text')).join('') }
}

function userPart(part: JsonObject): JsonObject[] {
  if (isJsonObject(part['inlineData'])) return [mediaPart(part['inlineData'])]
  const text = textIn(part, 'text')
  return text === '' ? [] : [{ type: 'text', text }]
}

function mediaPart(media: JsonObject): JsonObject {
  const [type, data] = [textIn(media, 'mimeType'), textIn(media, 'data')]
  if (type.startsWith('audio/')) {
    return { type: 'input_audio', input_audio: { data, format: type === 'audio/wav' ? 'wav' : 'mp3' } }
  }
  const url = `data:${type};base64,${data}`
  return type.startsWith('image/')
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { filename: 'document.pdf', file_data: url } }
}

/** Google's clients wrap a plain result as `output` or `result`. */
function resultContent(result: JsonObject): JsonValue {
  const { response } = result
  const [name, ...others] = isJsonObject(response) ? Object.keys(response) : []
  const isWrapped = others.length === 0 && (name === 'output' || name === 'result')
  const wrapped = isWrapped && isJsonObject(response) ? response[name] : undefined
  const text = typeof wrapped === 'string' ? wrapped : JSON.stringify(response ?? {})
  const media = objectsIn(result['parts']).flatMap((part) =>
    isJsonObject(part['inlineData']) ? [mediaPart(part['inlineData'])] : [],
  )
  return media.length === 0 ? text : [{ type: 'text', text }, ...media]
}

function chatTools(tools: JsonValue | undefined, choice: JsonObject): JsonObject[] {
  const allowed = new Set(listIn(choice, 'allowedFunctionNames'))
  return objectsIn(tools)
    .flatMap((tool) => objectsIn(tool['functionDeclarations']))
    .filter((one) => allowed.size === 0 || allowed.has(one['name'] ?? ''))
    .map((one) => ({
      type: 'function',
      function: present({
        name: one['name'],
        description: one['description'],
        parameters: firstSchema(one, ['parametersJsonSchema', 'parameters']) ?? {
          type: 'object',
          properties: {},
        },
      }),
    }))
}

function toolChoice(choice: JsonObject): JsonValue | undefined {
  const { mode } = choice
  const [name, second] = listIn(choice, 'allowedFunctionNames')
  if (mode === 'NONE') return 'none'
  if (mode !== 'ANY') return mode === undefined ? undefined : 'auto'
  return name === undefined || second !== undefined ? 'required' : { type: 'function', function: { name } }
}

function responseFormat(config: JsonObject): JsonValue | undefined {
  if (config['responseMimeType'] !== 'application/json') return undefined
  const schema = firstSchema(config, ['responseJsonSchema', 'responseSchema'])
  if (schema === null) return { type: 'json_object' }
  return { type: 'json_schema', json_schema: { name: 'answer', schema } }
}

/** Efforts by their names; any other level is dropped. */
const efforts = ['minimal', 'low', 'medium', 'high']

/** A budget of 0 turns thinking off, and one below 0 leaves it to the model. */
function reasoningOf(config: JsonObject): JsonObject {
  const { thinkingBudget: budget } = config
  const level = textIn(config, 'thinkingLevel').toLowerCase()
  if (budget === 0) return { reasoning: { enabled: false } }
  if (typeof budget === 'number' && budget > 0) {
    const effort = budget <= 2048 ? 'low' : budget <= 8192 ? 'medium' : 'high'
    return { reasoning: { max_tokens: budget }, reasoning_effort: effort }
  }
  if (!efforts.includes(level)) return {}
  return { reasoning: { enabled: true, effort: level }, reasoning_effort: level }
}

function partsOf(content: JsonValue | undefined): JsonObject[] {
  return isJsonObject(content) ? objectsIn(content['parts']) : []
}

function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return (Array.isArray(list) ? list : []).filter(isJsonObject)
}

function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}

function listIn(object: JsonObject, name: string): readonly JsonValue[] {
  const value = object[name]
  return Array.isArray(value) ? value : []
}

function textIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}
