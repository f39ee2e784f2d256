import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

/** Null where there is none. Throws the Problem `bad-request`. Pure. */
export function wholeNumber(value: JsonValue | undefined, name: string, max: number): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1 || value > max) {
    throw badRequest(`${name}: a whole number from 1 to ${max} is expected`)
  }
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The JSON object in a body. Throws the Problem `bad-json` or `bad-request`. Pure. */
export function parseJsonBody(bytes: Uint8Array): JsonObject {
  let body: unknown
  try {
    body = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('an object is expected')
  // JSON.parse makes JSON values and nothing else.
  return body as JsonObject
}

export function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
