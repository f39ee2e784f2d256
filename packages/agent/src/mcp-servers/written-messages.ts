import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/**
 * The member that carries a value as JSON text past the SDK, which parses each message and checks its form. A
 * noncharacter, which no interchanged text has. A message that already has it is wrapped like any other.
 */
const mark = '\ufdd0'

/** A result of a call as its server wrote it: numbers that a float would change keep their text. */
export interface WrittenResult {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
}

/**
 * Rewrites the text of a message to a client, so that the result of a call in it, or the schemas of listed tools, pass
 * the SDK as text: the SDK would change large numbers, and reject a result for one block of a type that it does not
 * know, or a list for one schema. Any other text is returned unchanged. Pure.
 */
export function withWrittenResult(text: string): string {
  return /"(?:content|structuredContent|inputSchema)"/.test(text) ? rewritten(text, resultAsText) : text
}

/** Rewrites the text of a message to a server like `withWrittenResult`, for the arguments of a call. Pure. */
export function withWrittenArguments(text: string): string {
  return text.includes('"arguments"') ? rewritten(text, argumentsAsText) : text
}

function rewritten(text: string, rewrite: (message: JsonObject) => JsonObject): string {
  let message: unknown
  try {
    message = parseAsWritten(text)
  } catch {
    return text
  }
  const all: unknown = Array.isArray(message) ? message.map((one) => rewrittenOne(one, rewrite)) : null
  return JSON.stringify(all ?? rewrittenOne(message, rewrite))
}

function rewrittenOne(message: unknown, rewrite: (message: JsonObject) => JsonObject): unknown {
  return isJsonObject(message) ? rewrite(message) : message
}

function resultAsText(message: JsonObject): JsonObject {
  const { result } = message
  if (isJsonObject(result) && Array.isArray(result['tools']))
    return { ...message, result: { ...result, tools: result['tools'].map(toolAsText) } }
  if (!isJsonObject(result) || !('content' in result || 'structuredContent' in result)) return message
  const { content: _content, structuredContent: _structured, isError, _meta: meta, ...rest } = result
  return {
    ...message,
    result: {
      ...rest,
      content: [],
      structuredContent: { [mark]: JSON.stringify(result) },
      ...(isError === true || isError === 'true' ? { isError: true } : {}),
      ...(isJsonObject(meta) ? { _meta: meta } : {}),
    },
  }
}

function toolAsText(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || !isJsonObject(tool['inputSchema'])) return tool
  return { ...tool, inputSchema: { type: 'object', [mark]: JSON.stringify(tool['inputSchema']) } }
}

/** The schema of a listed tool that `withWrittenResult` has rewritten, as its server wrote it. Pure. */
export function writtenSchema(schema: JsonValue | undefined): JsonValue | undefined {
  const text = textIn(schema)
  return text === null ? schema : (parseAsWritten(text) as JsonValue)
}

function argumentsAsText(message: JsonObject): JsonObject {
  const { params } = message
  if (!isJsonObject(params) || params['arguments'] === undefined) return message
  return {
    ...message,
    params: { ...params, arguments: { [mark]: JSON.stringify(params['arguments']) } },
  }
}

/** The result that `withWrittenResult` has rewritten, as its server wrote it. Pure. */
export function writtenResult(result: WrittenResult): WrittenResult {
  const text = textIn(result.structuredContent)
  const written: unknown = text === null ? null : parseAsWritten(text)
  if (!isJsonObject(written)) return result
  const { content, structuredContent } = written
  return { content, structuredContent, isError: result.isError }
}

/** The JSON text of the arguments that `withWrittenArguments` has rewritten. Pure. */
export function writtenArguments(given: unknown): string {
  return textIn(given) ?? JSON.stringify(given ?? {})
}

function textIn(value: unknown): string | null {
  const text = isJsonObject(value) ? value[mark] : null
  return typeof text === 'string' ? text : null
}
