import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { writtenNumber } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/**
 * A tool's schema as all providers take it: an object at its root and, where `plain`, one type at a time and no array
 * without a word on what is in it. Pure.
 */
export function fitToolSchema(schema: JsonValue | undefined, plain: boolean): JsonObject {
  const fitted = plain ? fit(schema ?? {}) : (schema ?? {})
  const root = isJsonObject(fitted) ? fitted : {}
  return { ...root, type: 'object', properties: isJsonObject(root['properties']) ? root['properties'] : {} }
}

/** Keywords whose values are schemas, by name or in a list. */
const named = new Set(['properties', '$defs', 'definitions', 'patternProperties'])
const nested = new Set(['items', 'additionalProperties', 'not', 'anyOf', 'oneOf', 'allOf', 'prefixItems'])

function fit(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(fit)
  if (!isJsonObject(schema) || writtenNumber(schema) !== null) return schema
  const inner: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (nested.has(key)) inner[key] = fit(value)
    else if (named.has(key) && isJsonObject(value)) {
      inner[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fit(one)]))
    } else inner[key] = value
  }
  return withItems(withOneType(inner))
}

function withOneType(schema: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> {
  const types = schema['type']
  if (!Array.isArray(types)) return { ...schema }
  const { type: _types, ...rest } = schema
  const [only, ...others] = types
  if (only === undefined) return rest
  if (others.length === 0) return { ...rest, type: only }
  const { description, ...shared } = rest
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: types.map((type) => withItems({ ...forType(shared, type), type })),
  }
}

/** What is said of the things in an array or an object is said of that type alone. */
function forType(shared: Readonly<Record<string, JsonValue>>, type: JsonValue): Record<string, JsonValue> {
  const ofType: Record<string, readonly string[]> = {
    array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
    object: ['properties', 'required', 'additionalProperties'],
  }
  const foreign = Object.entries(ofType).flatMap(([owner, keys]) => (owner === type ? [] : keys))
  return Object.fromEntries(Object.entries(shared).filter(([key]) => !foreign.includes(key)))
}

function withItems(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  if (schema['type'] !== 'array' || 'items' in schema || 'prefixItems' in schema) return schema
  return { ...schema, items: { type: 'string' } }
}
