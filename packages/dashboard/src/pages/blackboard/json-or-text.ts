import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** Parses typed text as JSON; text that is no JSON is the value itself. Pure. */
export function parseJsonOrText(text: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(text))
  } catch {
    return text
  }
}

/** Formats a value as text from which `parseJsonOrText` returns the same value. Pure. */
export function jsonOrText(value: JsonValue): string {
  return typeof value === 'string' && parseJsonOrText(value) === value
    ? value
    : JSON.stringify(value, null, 2)
}
