import { jsonDepthMax } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body that was understood, and its text, in which numbers are as the sender wrote them. */
export interface Payload {
  readonly text: string
  readonly value: JsonValue
}

/** One JSON value in UTF-8, no deeper than `jsonDepthMax`. Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readPayload(body: Uint8Array): Payload {
  try {
    const text = utf8.decode(body)
    // Before it is parsed: whoever walks the value walks it with its stack.
    requireShallow(text)
    // JSON.parse makes JSON values and nothing else.
    return { text, value: JSON.parse(text) as JsonValue }
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('bad-json', { cause: error })
  }
}

function requireShallow(text: string): void {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > jsonDepthMax) {
      throw new Problem('bad-request', { detail: `the body is nested deeper than ${jsonDepthMax} levels` })
    }
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
