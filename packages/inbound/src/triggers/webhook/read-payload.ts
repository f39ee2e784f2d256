import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson, readJson } from '@flotilla/foundation/intake'
import { requireJson } from './require-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A valid body and its text, with numbers as the sender wrote them. */
export interface Payload {
  readonly text: string
  /** Parses the text on demand: few webhooks have a condition, and parsing can take ten times as long as checking. */
  readonly value: () => JsonValue
}

/**
 * Parses one JSON value in UTF-8, not deeper than `jsonDepthMax`. Throws the Problems `bad-json` and `bad-request`.
 * Pure.
 */
export function readPayload(body: Uint8Array): Payload {
  const { fault } = measureJson(body, jsonLimits.delivery)
  if (fault !== null) throw new Problem('bad-request', { detail: `the body ${fault}` })
  try {
    const text = utf8.decode(body)
    // The call also checks the depth, because callers recurse over the value.
    requireJson(text)
    return { text, value: () => readJson(text, jsonLimits.delivery) }
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('bad-json', { cause: error })
  }
}

/** Returns the position of the closing quote of a string, or the end of the text. Pure. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return text.length
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return quote
    at = quote
  }
  return text.length
}
