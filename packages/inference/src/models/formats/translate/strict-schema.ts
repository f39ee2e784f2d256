import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** OpenAI requires every property in `required`; Anthropic accepts optional ones, but no bounds of values. */
export type StrictMode = 'openai' | 'anthropic'

/** Keywords that no provider accepts in a strict schema. */
const refused = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'prefixItems',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'uniqueItems',
] as const
const refusedByAnthropic = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'pattern',
] as const
/** The most nested objects that OpenAI accepts. */
const depthMax = 10
/** Keywords whose members are schemas by name, and those whose value is a schema or a list of schemas. */
const named = ['properties', '$defs', 'definitions'] as const
const nested = ['items', 'anyOf'] as const

/**
 * Returns whether a provider accepts the schema in strict mode. A provider rejects every call with another schema, so
 * that schema is sent without strictness: the model still gets it, but its output is not forced to fit. Pure.
 */
export function isStrictSchema(schema: JsonValue | undefined, mode: StrictMode): boolean {
  const keywords = mode === 'anthropic' ? [...refused, ...refusedByAnthropic] : refused
  const fits = (value: JsonValue | undefined, depth: number): boolean => {
    if (!isJsonObject(value) || depth > depthMax) return false
    if (keywords.some((keyword) => keyword in value)) return false
    if (isOfObjects(value) && !isClosed(value, mode)) return false
    const inner = [
      ...named.flatMap((name) => (isJsonObject(value[name]) ? Object.values(value[name]) : [])),
      ...nested.flatMap((name) => value[name] ?? []),
    ]
    return inner.every((one) => fits(one, depth + 1))
  }
  return isJsonObject(schema) && schema['type'] === 'object' && !('anyOf' in schema) && fits(schema, 0)
}

function isOfObjects({ type, properties }: JsonObject): boolean {
  return type === 'object' || properties !== undefined || (Array.isArray(type) && type.includes('object'))
}

function isClosed(schema: JsonObject, mode: StrictMode): boolean {
  if (schema['additionalProperties'] !== false) return false
  const names = Object.keys(isJsonObject(schema['properties']) ? schema['properties'] : {})
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return mode === 'anthropic' || names.every((name) => required.includes(name))
}

/** Removes strictness from tools and the response format where OpenAI would refuse their schema. Pure. */
export function fitStrict(request: JsonObject): JsonObject {
  const { tools, response_format: format } = request
  const fitted = Array.isArray(tools) ? tools.map(fitTool) : tools
  const hasSame = Array.isArray(fitted) && fitted.every((tool, at) => tool === (tools as JsonValue[])[at])
  const answer = isJsonObject(format) ? fitFormat(format) : format
  if ((fitted === tools || hasSame) && answer === format) return request
  return {
    ...request,
    ...(fitted === undefined ? {} : { tools: fitted }),
    ...(answer === undefined ? {} : { response_format: answer }),
  }
}

function fitTool(tool: JsonValue): JsonValue {
  const made = isJsonObject(tool) ? tool['function'] : null
  if (!isJsonObject(tool) || !isJsonObject(made) || made['strict'] !== true) return tool
  if (isStrictSchema(made['parameters'], 'openai')) return tool
  const { strict: _strict, ...loose } = made
  return { ...tool, function: loose }
}

function fitFormat(format: JsonObject): JsonObject {
  const schema = format['json_schema']
  if (!isJsonObject(schema) || schema['strict'] !== true) return format
  return isStrictSchema(schema['schema'], 'openai')
    ? format
    : { ...format, json_schema: { ...schema, strict: false } }
}
