import type { JsonObject } from './json-value.ts'

/** Of a value that came as JSON. Pure. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
