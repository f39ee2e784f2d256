import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { parseLargeAsWritten, writtenNumber } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonBody } from '@flotilla/foundation/intake'

/** Returns a whole number from 1 to `max`; null if the value is missing. Throws the Problem `bad-request`. Pure. */
export function wholeNumber(value: JsonValue | undefined, name: string, max: number): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1 || value > max) {
    throw badRequest(`${name}: must be a whole number from 1 to ${max}`)
  }
  return value
}

/**
 * Parses a JSON object; integers beyond 2^53 keep their digits. Throws `bad-json`, `body-too-large`,
 * `bad-request`.
 */
export function parseJsonBody(bytes: Uint8Array): JsonObject {
  const body = readJsonBody(bytes, jsonLimits.modelBody, { keepsDigits: true })
  if (!isJsonObject(body) || writtenNumber(body) !== null) throw badRequest('the body must be a JSON object')
  return body
}

/** Parses a call's body that the gateway itself has printed, to translate the call. Pure. */
export function printedBody({ body }: { readonly body: string | Uint8Array }): JsonObject {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  return parseLargeAsWritten(text) as JsonObject
}

export function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
