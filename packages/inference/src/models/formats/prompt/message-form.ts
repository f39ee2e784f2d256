import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { mediaSource } from './media-data.ts'
import { calledName, chosenName, functionName, offeredName, schema, serverTool } from './tool-rules.ts'
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
  text,
  textOr,
} from './closed-form.ts'
import type { Reading, Rule } from './closed-form.ts'

/** The members of a Messages API call that are forwarded to a provider; all other members are dropped. */

const cacheControl = objectOf({ type: oneOf('ephemeral'), ttl: text })
/** Citations add marks to every sentence, however short, so such a text is bounded like a document. */
const cites = objectOf({
  enabled: (value, reading) => {
    if (value === true) reading.found.documents++
    return flag(value, reading)
  },
})
/** `citations` of an answer are dropped: their text is in the answer, and the references are only for the reader. */
const common = { type: text, cache_control: cacheControl }

const textBlock = objectOf({ ...common, text }, { required: ['text'] })
const texts = kindOf('type', { text: textBlock })

const imageBlock = objectOf(
  { ...common, source: kindOf('type', mediaSource('image')) },
  { required: ['source'] },
)

const documentBlock = objectOf(
  {
    ...common,
    source: kindOf('type', {
      ...mediaSource('document'),
      text: objectOf({ type: text, media_type: oneOf('text/plain'), data: text }, { strict: true }),
      content: objectOf(
        {
          type: text,
          content: textOr(listOf(kindOf('type', { text: textBlock, image: imageBlock }))),
        },
        { strict: true },
      ),
    }),
    title: text,
    context: text,
    citations: cites,
  },
  { required: ['source'] },
)

/** The client names the source in its own words, which the mesh never resolves. */
const searchResultBlock = objectOf({
  ...common,
  source: text,
  title: text,
  content: listOf(texts),
  citations: cites,
})

/** Blocks that a user message or a tool result may contain. */
const shownBlocks = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
}

const referenceBlock = objectOf({ ...common, tool_name: functionName }, { required: ['tool_name'] })

/** A reference to a deferred tool, in the result of a client's own search: the provider adds the definition there. */
const toolReference: Rule = (value, reading) => {
  const checked = referenceBlock(value, reading)
  // A token has at least one byte.
  reading.found.toolTokens += reading.found.deferredBytes.get(textIn(checked, 'tool_name')) ?? 0
  return checked
}

const toolResultBlock = objectOf({
  ...common,
  tool_use_id: text,
  is_error: flag,
  content: textOr(listOf(kindOf('type', { ...shownBlocks, tool_reference: toolReference }))),
})

function textIn(value: JsonValue, name: string): string {
  const member = isJsonObject(value) ? value[name] : null
  return typeof member === 'string' ? member : ''
}

const toolUseBlock = objectOf({ ...common, id: text, name: calledName, input: anything })

/** Accepts results of provider-run tools only if this call has such a tool. */
function ifServed(rule: Rule): Rule {
  return (value, reading) => {
    if (reading.found.serverTools.length > 0) return rule(value, reading)
    throw refused(
      reading,
      'no tool of this call runs at the provider, so the call cannot contain results of one',
    )
  }
}

const serverUseBlock = objectOf({ ...common, id: text, name: calledName, input: anything })
const foundPage = objectOf({ type: text, url: text, title: text, encrypted_content: text, page_age: text })
const serverFailure = objectOf({ type: text, error_code: text })
const searchAnswerBlock = objectOf({
  ...common,
  tool_use_id: text,
  content: (value, reading) =>
    Array.isArray(value)
      ? listOf(kindOf('type', { web_search_result: foundPage }))(value, reading)
      : kindOf('type', { web_search_tool_result_error: serverFailure })(value, reading),
})
const fetchAnswerBlock = objectOf({
  ...common,
  tool_use_id: text,
  content: kindOf('type', {
    web_fetch_result: objectOf({
      type: text,
      url: text,
      retrieved_at: text,
      content: kindOf('type', { document: documentBlock }),
    }),
    web_fetch_tool_result_error: serverFailure,
  }),
})

const messages = listOf(
  kindOf('role', {
    user: objectOf({
      role: text,
      content: textOr(listOf(kindOf('type', { ...shownBlocks, tool_result: toolResultBlock }))),
    }),
    assistant: objectOf({
      role: text,
      content: textOr(
        listOf(
          kindOf('type', {
            text: textBlock,
            thinking: objectOf({ ...common, thinking: text, signature: text }),
            redacted_thinking: objectOf({ ...common, data: text }),
            tool_use: toolUseBlock,
            server_tool_use: ifServed(serverUseBlock),
            web_search_tool_result: ifServed(searchAnswerBlock),
            web_fetch_tool_result: ifServed(fetchAnswerBlock),
          }),
        ),
      ),
    }),
    system: objectOf({ role: text, content: textOr(listOf(texts)) }),
  }),
)

const customTool = objectOf(
  {
    ...common,
    name: offeredName,
    description: text,
    input_schema: schema,
    strict: flag,
    defer_loading: flag,
    input_examples: anything,
  },
  { required: ['name'] },
)

/** Provider-defined tools that run at the client, and the most prompt tokens that each adds. */
const clientTools: Readonly<Record<string, number>> = {
  bash_20241022: 500,
  bash_20250124: 500,
  text_editor_20241022: 1000,
  text_editor_20250124: 1000,
  text_editor_20250429: 1000,
  text_editor_20250728: 1000,
  computer_20241022: 2000,
  computer_20250124: 2000,
  computer_20251124: 2000,
  memory_20250818: 2000,
}

const clientTool = objectOf({
  ...common,
  name: offeredName,
  display_width_px: number,
  display_height_px: number,
  display_number: number,
  enable_zoom: flag,
  max_characters: number,
})

/** Tokens that the Messages API adds to a prompt with tools, rounded up. */
const toolsMaxTokens = 2000

const toolList = listOf((value, reading) => {
  const type = isJsonObject(value) ? (value['type'] ?? null) : undefined
  if (type === null || type === 'custom') {
    const tool = customTool(value, reading)
    if (isJsonObject(tool) && tool['defer_loading'] === true)
      reading.found.deferredBytes.set(textIn(tool, 'name'), Buffer.byteLength(JSON.stringify(tool)))
    return tool
  }
  const added = typeof type === 'string' && Object.hasOwn(clientTools, type) ? clientTools[type] : undefined
  if (added === undefined) return serverTool(value, reading)
  reading.found.toolTokens += added
  return clientTool(value, reading)
})

const tools: Rule = (value, reading) => {
  reading.found.toolTokens += toolsMaxTokens
  return toolList(value, reading)
}

const toolChoice = kindOf('type', {
  auto: objectOf({ type: text, disable_parallel_tool_use: flag }, { strict: true }),
  any: objectOf({ type: text, disable_parallel_tool_use: flag }, { strict: true }),
  none: objectOf({ type: text, disable_parallel_tool_use: flag }, { strict: true }),
  tool: objectOf(
    { type: text, name: chosenName, disable_parallel_tool_use: flag },
    { required: ['name'], strict: true },
  ),
})

const schemaFormat = kindOf('type', { json_schema: objectOf({ type: text, schema }) })

/** The order matters: `tools` is read before the members that refer to tools. */
const members = {
  tools,
  tool_choice: toolChoice,
  system: textOr(listOf(texts)),
  messages,
  stop_sequences: listOf(text),
  stream: flag,
  temperature: number,
  top_p: number,
  top_k: number,
  thinking: objectOf({ type: text, budget_tokens: number, display: text }, { required: ['type'] }),
  metadata: objectOf({ user_id: text }),
  output_config: objectOf({ effort: text, format: schemaFormat }),
  output_format: schemaFormat,
  cache_control: cacheControl,
} as const satisfies Readonly<Record<string, Rule>>

/** The members that a token count request may have. */
const counted = {
  tools,
  tool_choice: toolChoice,
  system: members.system,
  messages,
  thinking: members.thinking,
  cache_control: members.cache_control,
}

/** Reads the members to forward. Throws the Problem `bad-request`, which names the place. */
export function chosenOfMessages(
  body: JsonObject,
  reading: Reading,
  form: 'call' | 'count' = 'call',
): Record<string, JsonValue> {
  if (!Array.isArray(body['messages']))
    throw refused({ ...reading, path: ['messages'] }, 'a list is expected')
  return chosenMembers(body, form === 'call' ? members : counted, reading)
}
