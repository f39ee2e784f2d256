import * as z from 'zod/mini'

/**
 * Maximum depth of arrays and objects in one value. Code that walks a value uses its stack, and its possible depth
 * changes with the compiler: a deep value could be stored as a row that cannot be read after a restart.
 */
export const jsonDepthMax = 100

export type JsonValue = z.infer<ReturnType<typeof z.json>>

/**
 * Any JSON value, nested no deeper than `jsonDepthMax`. The check walks the value once: a schema that tries each kind
 * in turn would create an issue for every kind that the value is not. Members named `__proto__` are removed, because
 * copying such a member would set a prototype.
 */
export const jsonValueSchema = z.pipe(
  z.custom<JsonValue>(
    (value) => isJson(value, jsonDepthMax),
    `the value is not JSON, or is nested deeper than ${jsonDepthMax} levels`,
  ),
  z.transform((value: JsonValue): JsonValue => withoutPrototypes(value)),
)

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema)
export type JsonObject = z.infer<typeof jsonObjectSchema>

function isJson(value: unknown, levelsLeft: number): boolean {
  if (typeof value !== 'object') {
    return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
  }
  if (value === null) return true
  if (levelsLeft === 0) return false
  if (Array.isArray(value)) {
    for (const inner of value) if (!isJson(inner, levelsLeft - 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((inner) => isJson(inner, levelsLeft - 1))
}

const prototypeName = '__proto__'

/** Returns the same value if it has nothing to remove, which is nearly always. */
function withoutPrototypes(value: JsonValue): JsonValue {
  return hasPrototypeName(value) ? copied(value) : value
}

function copied(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(copied)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (name === prototypeName ? [] : [[name, copied(inner)]])),
  )
}

function hasPrototypeName(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (!Array.isArray(value) && Object.hasOwn(value, prototypeName)) return true
  return Object.values(value).some(hasPrototypeName)
}
