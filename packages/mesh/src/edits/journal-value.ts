import type { JsonValue } from '@flotilla/protocol/json-value'

/** Longest value that the journal holds whole, characters of JSON. */
const wholeMaxChars = 500

/** A value as the journal may hold it: settings as they are, longer texts by their length alone. Pure. */
export function journalValue(value: JsonValue): JsonValue {
  const text = JSON.stringify(value)
  return text.length <= wholeMaxChars && typeof value !== 'string' ? value : { chars: text.length }
}
