import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import { callToolName } from '@flotilla/protocol/findable-tools'
import type { RequestedCall } from '../llm/language-model.ts'

/**
 * Returns the call that the model means: for `call_tool` the tool that it names, with the inner arguments as they
 * were written. Any other call, and a `call_tool` that names no tool or itself, is returned unchanged. The
 * conversation keeps the call as the model made it. Pure.
 */
export function madeCall(requested: RequestedCall): RequestedCall {
  if (requested.name !== callToolName) return requested
  const outer = parsedOrNull(requested.arguments)
  const name = isJsonObject(outer) ? outer['name'] : null
  if (!isJsonObject(outer) || typeof name !== 'string' || name === '' || name === callToolName)
    return requested
  return { id: requested.id, name, arguments: innerText(outer['arguments']) }
}

/** Returns the inner arguments as JSON; models sometimes write the inner object as text. */
function innerText(value: unknown): string {
  if (value === undefined || value === null) return '{}'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function parsedOrNull(text: string): unknown {
  try {
    return parseAsWritten(text)
  } catch {
    return null
  }
}
