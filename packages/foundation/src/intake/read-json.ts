import { parseAsWritten, parseLargeAsWritten } from '@flotilla/protocol/json-as-written'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { JsonBounds } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson } from './measure-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses one JSON value from untrusted text; all such input goes through here. Text that would create more than the
 * limits allow is rejected by one pass over its bytes, before anything is allocated. Throws the problem
 * `body-too-large` or `bad-json`. Pure.
 */
export function readJson(source: Uint8Array | string, bounds: JsonBounds): JsonValue {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source
  const { fault } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  return parsed(typeof source === 'string' ? source : bytes)
}

/**
 * Like `readJson`, but returns integers that a float cannot represent as text: amounts on chains have 64 bits. Pure.
 */
export function readJsonExactly(source: Uint8Array | string, bounds: JsonBounds): JsonValue {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source
  const { fault } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  return parsed(typeof source === 'string' ? source : bytes, digitsOfLargeNumbers)
}

/**
 * Like `readJson`, but keeps numbers that a float cannot represent as written, for output without computation. Pure.
 */
export function readJsonAsWritten(text: string, bounds: JsonBounds): unknown {
  const { fault } = measureJson(Buffer.from(text), bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  try {
    return parseAsWritten(text)
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
}

/**
 * Like `readJson`, but returns undefined for invalid JSON and for text above the limits. For callers that pass such
 * text through. Pure.
 */
export function readJsonQuietly(source: Uint8Array | string, bounds: JsonBounds): JsonValue | undefined {
  try {
    return readJson(source, bounds)
  } catch {
    return undefined
  }
}

/**
 * Like `readJson`, for a request body: also rejects a name that reaches a prototype, because copying such a member
 * would change the prototype. Throws the problem `bad-request` for such a name. With `keepsDigits`, whole numbers
 * beyond 2^53 stay as they are written (`writtenNumber`). Pure.
 */
export function readJsonBody(
  bytes: Uint8Array,
  bounds: JsonBounds,
  { keepsDigits = false }: { readonly keepsDigits?: boolean } = {},
): JsonValue {
  const { fault, hasOddName } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}; send less at once` })
  const value = keepsDigits ? withDigits(bytes) : parsed(bytes)
  if (hasOddName && reachesPrototype(value)) {
    throw new Problem('bad-request', { detail: 'no field may be named __proto__, or constructor.prototype' })
  }
  return value
}

function parsed(source: Uint8Array | string, revive?: typeof digitsOfLargeNumbers): JsonValue {
  try {
    // JSON.parse returns only JSON values.
    return JSON.parse(typeof source === 'string' ? source : utf8.decode(source), revive) as JsonValue
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
}

function withDigits(bytes: Uint8Array): JsonValue {
  try {
    return parseLargeAsWritten(utf8.decode(bytes)) as JsonValue
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
}

function digitsOfLargeNumbers(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  return at?.source !== undefined && /^-?\d+$/.test(at.source) ? at.source : value
}

/** The recursion is as deep as the measurement allowed. */
function reachesPrototype(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(reachesPrototype)
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.entries(value).some(
    ([name, inner]) => (name === 'constructor' && hasPrototype(inner)) || reachesPrototype(inner),
  )
}

function hasPrototype(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
