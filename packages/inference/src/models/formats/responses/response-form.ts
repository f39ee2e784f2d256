import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { mediaAddress } from '../prompt/media-data.ts'
import { calledName, chosenName, offeredName, schema, serverTool } from '../prompt/tool-rules.ts'
import {
  chosenMembers,
  flag,
  isObject,
  kindOf,
  listOf,
  number,
  objectOf,
  oneOf,
  refused,
  refusing,
  shown,
  text,
  textOr,
} from '../prompt/closed-form.ts'
import type { Reading, Rule } from '../prompt/closed-form.ts'

/** The members of a Responses API call that are forwarded to a provider; all other members are dropped. */

const stored = 'is stored at the provider, which the mesh does not use'

const textPart = objectOf({ type: text, text }, { required: ['text'] })
const imagePart = objectOf(
  {
    type: text,
    image_url: mediaAddress('image'),
    detail: text,
    file_id: refusing(`a file by its id ${stored}; send image_url`),
  },
  { required: ['image_url'] },
)
const filePart = objectOf(
  {
    type: text,
    file_data: mediaAddress('document'),
    filename: text,
    file_id: refusing(`a file by its id ${stored}; send file_data`),
    file_url: refusing('the mesh does not fetch files for this endpoint; send file_data'),
  },
  { required: ['file_data'] },
)
const refusalPart = objectOf({ type: text, refusal: text }, { required: ['refusal'] })
const shownParts = { input_text: textPart, input_image: imagePart, input_file: filePart }

const message = objectOf(
  {
    type: text,
    id: text,
    role: oneOf('user', 'assistant', 'system', 'developer'),
    content: textOr(listOf(kindOf('type', { ...shownParts, output_text: textPart, refusal: refusalPart }))),
  },
  { required: ['role', 'content'] },
)

const output = textOr(listOf(kindOf('type', shownParts)))
const result = objectOf({ type: text, id: text, call_id: text, output }, { required: ['call_id', 'output'] })

const item = kindOf('type', {
  message,
  reasoning: objectOf({
    type: text,
    id: text,
    summary: listOf(kindOf('type', { summary_text: textPart })),
    content: listOf(kindOf('type', { reasoning_text: textPart })),
    encrypted_content: text,
  }),
  function_call: objectOf(
    { type: text, id: text, call_id: text, name: calledName, namespace: text, arguments: text },
    { required: ['call_id', 'name', 'arguments'] },
  ),
  function_call_output: result,
  custom_tool_call: objectOf(
    { type: text, id: text, call_id: text, name: calledName, namespace: text, input: text },
    { required: ['call_id', 'name', 'input'] },
  ),
  custom_tool_call_output: result,
  item_reference: refusing(
    'items of earlier answers are not stored, so send each item whole; many clients do so with store: false',
  ),
})

/** A message may omit its type. */
const input = textOr(
  listOf((value, reading) =>
    isObject(value) && (value['type'] === undefined || value['type'] === null)
      ? message(value, reading)
      : item(value, reading),
  ),
)

const functionTool = objectOf(
  { type: text, name: offeredName, description: text, parameters: schema, strict: flag },
  { required: ['name'] },
)
const customTool = objectOf(
  {
    type: text,
    name: offeredName,
    description: text,
    format: kindOf('type', {
      text: objectOf({ type: text }),
      grammar: objectOf(
        { type: text, syntax: oneOf('lark', 'regex'), definition: text },
        { required: ['syntax', 'definition'] },
      ),
    }),
  },
  { required: ['name'] },
)
const clientTools = { function: functionTool, custom: customTool }
const namespace = objectOf(
  { type: text, name: offeredName, description: text, tools: listOf(kindOf('type', clientTools)) },
  { required: ['name', 'tools'] },
)
const clientTool = kindOf('type', { ...clientTools, namespace })

const tools = listOf((value, reading) => {
  const type = isObject(value) ? value['type'] : undefined
  return type === 'function' || type === 'custom' || type === 'namespace'
    ? clientTool(value, reading)
    : serverTool(value, reading)
})

const chosenTool = objectOf(
  { type: oneOf('function', 'custom'), name: chosenName },
  { required: ['type', 'name'], strict: true },
)
const namedChoice = oneOf('auto', 'none', 'required')
const toolChoice: Rule = (value, reading) =>
  typeof value === 'string' ? namedChoice(value, reading) : chosenTool(value, reading)

const answerText = objectOf({
  format: kindOf('type', {
    text: objectOf({ type: text }),
    json_object: objectOf({ type: text }),
    json_schema: objectOf(
      { type: text, name: text, description: text, schema, strict: flag },
      { required: ['name', 'schema'] },
    ),
  }),
  verbosity: text,
})

const encryptedReasoning = 'reasoning.encrypted_content'

/** Keeps only the encrypted reasoning: all other values concern tools of the provider, except log probabilities. */
const include: Rule = (value, reading) => {
  if (!Array.isArray(value)) throw refused(reading, 'a list is expected')
  const list: readonly JsonValue[] = value
  if (list.includes('message.output_text.logprobs'))
    throw refused(reading, 'log probabilities are not offered')
  return list.filter((name) => name === encryptedReasoning)
}

const notInBackground: Rule = (value, reading) => {
  if (value !== false)
    throw refused(reading, `${shown(value)} is not accepted: a call runs while its client waits`)
  return value
}

/** The order matters: `tools` is read before the members that refer to tools. */
const members = {
  tools,
  tool_choice: toolChoice,
  instructions: text,
  input,
  stream: flag,
  parallel_tool_calls: flag,
  temperature: number,
  top_p: number,
  reasoning: objectOf({ effort: text, summary: text }),
  text: answerText,
  include,
  prompt_cache_key: text,
  truncation: oneOf('auto', 'disabled'),
  user: text,
  background: notInBackground,
  previous_response_id: refusing('answers are not stored, so send the whole conversation as input'),
  conversation: refusing(`a conversation by its id ${stored}; send the whole conversation as input`),
  prompt: refusing(`a prompt by its id ${stored}; send instructions and input`),
} as const satisfies Readonly<Record<string, Rule>>

/**
 * Reads the members to forward; `store` is always false, because the mesh is what keeps the records of a fleet. Throws
 * the Problem `bad-request`, which names the place.
 */
export function chosenOfResponse(body: JsonObject, reading: Reading): Record<string, JsonValue> {
  const chosen = chosenMembers(body, members, reading)
  if (chosen['input'] === undefined) throw refused({ ...reading, path: ['input'] }, 'this field is required')
  delete chosen['background']
  return { ...chosen, store: false }
}
