import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson, readJson } from '../../intake/index.ts'
import { requireJson } from './require-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body that was understood, and its text, in which numbers are as the sender wrote them. */
export interface Payload {
  readonly text: string
  /** Made when it is asked for: most hooks have no condition, and parsing may take ten times what looking takes. */
  readonly value: () => JsonValue
}

/** One JSON value in UTF-8, no deeper than `jsonDepthMax`. Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readPayload(body: Uint8Array): Payload {
  const { fault } = measureJson(body, jsonLimits.delivery)
  if (fault !== null) throw new Problem('bad-request', { detail: `the body ${fault}` })
  try {
    const text = utf8.decode(body)
    // Its depth too: whoever walks the value walks it with its stack.
    requireJson(text)
    return { text, value: () => readJson(text, jsonLimits.delivery) }
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('bad-json', { cause: error })
  }
}

/** Where the string that begins at `start` has its closing quote; the end of the text where it has none. Pure. */
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
