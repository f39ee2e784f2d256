import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { decoded, mediaAddress } from './media-data.ts'
import { calledName, chosenName, offeredName, schema, serverTool } from './tool-rules.ts'
import {
  anything,
  chosenMembers,
  flag,
  kindOf,
  listOf,
  number,
  objectOf,
  oneOf,
  refused,
  refusing,
  text,
  textOr,
} from './closed-form.ts'
import type { Reading, Rule } from './closed-form.ts'
import { deferredDefinitions, foundInResult } from './deferred-form.ts'

/** The members of a chat completion that are forwarded to a provider; all other members are dropped. */

const cacheControl = objectOf({ type: oneOf('ephemeral'), ttl: text })

const textPart = objectOf({ type: text, text, cache_control: cacheControl }, { required: ['text'] })

const image: Rule = (value, reading) =>
  typeof value === 'string' ? imageAddress(value, reading) : imageObject(value, reading)
const imageAddress = mediaAddress('image')
const imageObject = objectOf({ url: imageAddress, detail: text }, { required: ['url'], strict: true })

const imagePart = objectOf(
  { type: text, image_url: image, cache_control: cacheControl },
  { required: ['image_url'] },
)

const filePart = objectOf(
  {
    type: text,
    file: objectOf(
      { file_data: mediaAddress('document'), filename: text },
      { required: ['file_data'], strict: true },
    ),
    cache_control: cacheControl,
  },
  { required: ['file'] },
)

const sound: Rule = (value, reading) => {
  if (typeof value !== 'string' || decoded(value) === null) throw refused(reading, 'base64 is expected')
  reading.found.sounds++
  reading.found.dataBytes += value.length
  return value
}

const soundPart = objectOf(
  {
    type: text,
    input_audio: objectOf(
      { data: sound, format: oneOf('wav', 'mp3') },
      { required: ['data', 'format'], strict: true },
    ),
    cache_control: cacheControl,
  },
  { required: ['input_audio'] },
)

const refusalPart = objectOf({ type: text, refusal: text }, { required: ['refusal'] })

/** A thinking part in the form of Mistral's models. */
const thinkingPart = objectOf({
  type: text,
  thinking: textOr(listOf(kindOf('type', { text: textPart }))),
  closed: flag,
  signature: text,
})

const textContent = textOr(listOf(kindOf('type', { text: textPart })))

const reasoningDetail = objectOf({
  type: text,
  text,
  summary: text,
  signature: text,
  data: text,
  id: text,
  index: number,
  format: text,
  // The provider that made the thinking, in a conversation of the mesh's own agents.
  from: text,
  field: text,
})

const toolCall = objectOf(
  {
    id: text,
    type: oneOf('function'),
    index: number,
    function: objectOf({ name: calledName, arguments: text }, { required: ['name', 'arguments'] }),
    cache_control: cacheControl,
    extra_content: objectOf({ google: objectOf({ thought_signature: text }) }),
  },
  { required: ['id', 'type', 'function'] },
)

const instruction = objectOf({ role: text, content: textContent, name: text, cache_control: cacheControl })

const messages = listOf(
  kindOf('role', {
    system: instruction,
    developer: instruction,
    user: objectOf({
      role: text,
      content: textOr(
        listOf(
          kindOf('type', { text: textPart, image_url: imagePart, file: filePart, input_audio: soundPart }),
        ),
      ),
      name: text,
      cache_control: cacheControl,
    }),
    assistant: objectOf({
      role: text,
      content: textOr(
        listOf(kindOf('type', { text: textPart, refusal: refusalPart, thinking: thinkingPart })),
      ),
      name: text,
      refusal: text,
      tool_calls: listOf(toolCall),
      reasoning_content: text,
      reasoning: text,
      reasoning_details: listOf(reasoningDetail),
      cache_control: cacheControl,
      prefix: flag,
      partial: flag,
      audio: refusing(
        'audio of earlier answers is stored at the provider, so an assistant message may contain only text',
      ),
    }),
    tool: objectOf({
      role: text,
      content: textOr(listOf(kindOf('type', { text: textPart, image_url: imagePart }))),
      tool_call_id: text,
      name: calledName,
      is_error: flag,
      cache_control: cacheControl,
      found_tools: foundInResult,
    }),
  }),
)

const functionTool = objectOf(
  {
    type: text,
    function: objectOf(
      { name: offeredName, description: text, parameters: schema, strict: flag },
      { required: ['name'] },
    ),
    cache_control: cacheControl,
  },
  { required: ['function'] },
)

const tools = listOf((value, reading) =>
  isJsonObject(value) && value['type'] === 'function'
    ? functionTool(value, reading)
    : serverTool(value, reading),
)

const choices = oneOf('auto', 'none', 'required', 'any')
const chosenFunction = objectOf(
  {
    type: oneOf('function'),
    function: objectOf({ name: chosenName }, { required: ['name'], strict: true }),
  },
  { required: ['type', 'function'], strict: true },
)
const toolChoice: Rule = (value, reading) =>
  typeof value === 'string' ? choices(value, reading) : chosenFunction(value, reading)

const responseFormat = kindOf('type', {
  text: objectOf({ type: text }),
  json_object: objectOf({ type: text, schema }),
  json_schema: objectOf({
    type: text,
    json_schema: objectOf({ name: text, description: text, schema, strict: flag }),
  }),
})

const biases: Rule = (value, reading) => {
  if (!isJsonObject(value)) throw refused(reading, 'an object is expected')
  for (const name in value) {
    if (typeof value[name] !== 'number') throw refused(reading, 'numbers by token are expected')
  }
  return value
}

/** The order matters: `tools` is read before `tool_choice`, which must name one of them. */
const members: Readonly<Record<string, Rule>> = {
  messages,
  temperature: number,
  top_p: number,
  stop: textOr(listOf(text)),
  stream: flag,
  stream_options: anything,
  tools,
  deferred_tools: deferredDefinitions,
  tool_choice: toolChoice,
  parallel_tool_calls: flag,
  response_format: responseFormat,
  seed: number,
  presence_penalty: number,
  frequency_penalty: number,
  logit_bias: biases,
  n: number,
  logprobs: flag,
  top_logprobs: number,
  user: text,
  reasoning_effort: text,
}

/** Reads the members to forward. Throws the Problem `bad-request`, which names the place. */
export function chosenOfChat(body: JsonObject, reading: Reading): Record<string, JsonValue> {
  if (!Array.isArray(body['messages']))
    throw refused({ ...reading, path: ['messages'] }, 'a list is expected')
  return chosenMembers(body, members, reading)
}
