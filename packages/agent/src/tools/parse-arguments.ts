import type { JsonObject } from '@flotilla/protocol/json-value'
import { isJsonObject } from './parameters.ts'

export type ParsedArguments =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly reason: string }

/**
 * A model's arguments as an object. What is cut off, or no object, is never guessed at and never executed. An
 * empty text means a call without arguments. Pure.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, input: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return { ok: true, input: value }
    return { ok: false, reason: 'The arguments are not a JSON object.' }
  } catch {
    return { ok: false, reason: 'The arguments are not valid JSON; they may have been cut off.' }
  }
}
