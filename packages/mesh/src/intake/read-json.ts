import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { JsonBounds } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson } from './measure-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * One JSON value out of text that somebody outside of the mesh wrote: the one way from such bytes to a value. What would
 * make more than the bounds allow is refused by one pass over its bytes, before anything is made of it. Throws the Problem
 * `body-too-large`, or `bad-json`. Pure.
 */
export function readJson(source: Uint8Array | string, bounds: JsonBounds): JsonValue {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source
  const { fault } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  return parsed(typeof source === 'string' ? source : bytes)
}

/**
 * The same, but whole numbers that no float holds come as the text of their digits: amounts of chains have 64 bits. Pure.
 */
export function readJsonExactly(source: Uint8Array | string, bounds: JsonBounds): JsonValue {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source
  const { fault } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  return parsed(typeof source === 'string' ? source : bytes, digitsOfLargeNumbers)
}

/** The same, but numbers that no float holds go on as they are written: for what is printed again and not computed with. Pure. */
export function readJsonAsWritten(text: string, bounds: JsonBounds): unknown {
  const { fault } = measureJson(Buffer.from(text), bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}` })
  try {
    return parseAsWritten(text)
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
}

/** The same, or undefined for what is no JSON or passes the bounds: where what is no JSON goes on as it came. Pure. */
export function readJsonQuietly(source: Uint8Array | string, bounds: JsonBounds): JsonValue | undefined {
  try {
    return readJson(source, bounds)
  } catch {
    return undefined
  }
}

/**
 * The same for a body at an API, where a name that reaches a prototype is refused too: what is copied from there member
 * by member would change more than itself. Throws the Problem `bad-request` for that. Pure.
 */
export function readJsonBody(bytes: Uint8Array, bounds: JsonBounds): JsonValue {
  const { fault, hasOddName } = measureJson(bytes, bounds)
  if (fault !== null) throw new Problem('body-too-large', { detail: `the JSON ${fault}; send less at once` })
  const value = parsed(bytes)
  if (hasOddName && reachesPrototype(value)) {
    throw new Problem('bad-request', { detail: 'no field may be named __proto__, or constructor.prototype' })
  }
  return value
}

function parsed(source: Uint8Array | string, revive?: typeof digitsOfLargeNumbers): JsonValue {
  try {
    // JSON.parse makes JSON values and nothing else.
    return JSON.parse(typeof source === 'string' ? source : utf8.decode(source), revive) as JsonValue
  } catch (error) {
    throw new Problem('bad-json', { cause: error })
  }
}

function digitsOfLargeNumbers(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  return at?.source !== undefined && /^-?\d+$/.test(at.source) ? at.source : value
}

/** As deep as that pass let through. */
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
