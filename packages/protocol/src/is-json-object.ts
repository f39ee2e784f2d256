import type { JsonObject } from './json-value.ts'

/** Whether a parsed JSON value is an object. Pure. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
