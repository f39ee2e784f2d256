import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { walkSchema } from '../tool-schema.ts'

/** Bounds that Google's form writes as 64-bit integers, which its clients may print as texts. */
const counts = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'] as const

/**
 * Converts a schema in Google's form, which has types in capitals and a member `nullable`, to JSON Schema. A schema
 * that is JSON Schema already stays the same. Pure.
 */
export function jsonSchemaOf(schema: JsonValue): JsonValue {
  return walkSchema(schema, ({ propertyOrdering: _order, nullable, ...one }) => {
    const { type } = one
    const named = typeof type === 'string' ? type.toLowerCase() : type
    if (named === 'type_unspecified') delete one['type']
    else if (named !== undefined)
      one['type'] = nullable === true && typeof named === 'string' ? [named, 'null'] : named
    for (const name of counts) {
      const value = one[name]
      if (typeof value === 'string' && /^\d{1,15}$/.test(value)) one[name] = Number(value)
    }
    return one
  })
}

/** Returns the schema of the first of these members. Pure. */
export function firstSchema(of: JsonObject, names: readonly string[]): JsonObject | null {
  for (const name of names) {
    const value = of[name]
    if (isJsonObject(value)) return jsonSchemaOf(value) as JsonObject
  }
  return null
}
