import type { JsonValue } from '@flotilla/protocol/json-value'

/** Longest value that the journal holds whole, characters of JSON. */
const wholeMaxChars = 500

/**
 * A value in the form for the audit log: settings as they are, longer texts by their length alone, MCP servers by
 * name, because their environment may contain secrets. Pure.
 */
export function journalValue(value: JsonValue, field: string): JsonValue {
  if (field === 'mcpServers' && typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, server]) => [name, server !== null]))
  }
  const text = JSON.stringify(value)
  return text.length <= wholeMaxChars && typeof value !== 'string' ? value : { chars: text.length }
}
