import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'

/**
 * Returns why an input does not fit the first level of a tool's schema (missing or unknown parameter, wrong type), or
 * null. For calls by a model that has not read the schema; the server checks the whole input. Pure.
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

/** True if the value has this type. An unknown type fits every value, because the server itself checks it. */
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
