import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'

/**
 * Why an input cannot be meant for a tool, by the first level of its schema: a missing or unknown parameter, or a value of
 * another type. Null if it may. For calls by a model that has not read the schema; the server itself checks all of it. Pure.
 */
export function whyNotOf(parameters: ToolDefinition['parameters'], input: JsonObject): string | null {
  const { properties, required, additionalProperties } = parameters
  const names = Array.isArray(required) ? required : []
  const missing = names.filter((name) => typeof name === 'string' && !Object.hasOwn(input, name))
  if (missing.length > 0) return `Missing: ${missing.join(', ')}.`
  for (const [name, value] of Object.entries(input)) {
    const schema: unknown = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (schema === undefined && additionalProperties === false) return `There is no parameter ${name}.`
    const type: unknown = isJsonObject(schema) ? schema['type'] : undefined
    if (typeof type === 'string' && !isOfType(value, type)) return `\`${name}\`: expected ${type}.`
  }
  return null
}

/** An unknown type is the server's business. */
function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    default:
      return true
  }
}
