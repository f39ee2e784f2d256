import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** The value that the words stand for: JSON where they are some, else the text itself. Pure. */
export function parseJsonOrText(text: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(text))
  } catch {
    return text
  }
}

/** The words that stand for a value, so that reading them gives it again. Pure. */
export function jsonOrText(value: JsonValue): string {
  return typeof value === 'string' && parseJsonOrText(value) === value
    ? value
    : JSON.stringify(value, null, 2)
}
