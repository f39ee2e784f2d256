import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { imageMaxTokens } from './estimate.ts'

/** No prompt of a document is larger than what fits into the largest window that is let through. */
const documentMaxTokens = 200_000

/** What the Messages API adds to a prompt that has tools, tokens, rounded up. */
const toolsMaxTokens = 2000

/**
 * At least as many tokens as the prompt can have: a token is never shorter than a byte, and pictures and documents
 * count as a fixed maximum wherever they stand. `bodyBytes` is the length of the JSON that goes out. Pure.
 */
export function messagesTokensAtMost(parameters: JsonObject, bodyBytes: number): number {
  const found = { images: 0, documents: 0, sourceBytes: 0 }
  const messages = parameters['messages']
  for (const message of Array.isArray(messages) ? messages : []) {
    if (isObject(message)) countIn(message['content'], found)
  }
  const tools = Array.isArray(parameters['tools']) ? toolsMaxTokens : 0
  return (
    Math.max(0, bodyBytes - found.sourceBytes) +
    found.images * imageMaxTokens +
    found.documents * documentMaxTokens +
    tools
  )
}

interface Found {
  images: number
  documents: number
  sourceBytes: number
}

function countIn(content: JsonValue | undefined, found: Found): void {
  for (const block of Array.isArray(content) ? content : []) {
    if (!isObject(block)) continue
    if (block['type'] === 'tool_result') countIn(block['content'], found)
    const source = block['source']
    if (!isObject(source) || source['type'] === 'text' || source['type'] === 'content') {
      if (isObject(source)) countIn(source['content'], found)
      continue
    }
    if (block['type'] === 'image') found.images++
    else found.documents++
    const data = source['data']
    if (typeof data === 'string') found.sourceBytes += data.length
  }
}

/** Characters of a token in common text, and what a picture commonly counts. */
const charsPerToken = 4
const imageTokens = 1600

/** About as many tokens as a prompt has, for a provider that does not count them itself. Pure. */
export function messagesTokensAbout(parameters: JsonObject): number {
  const found = { images: 0, documents: 0, sourceBytes: 0 }
  const messages = parameters['messages']
  for (const message of Array.isArray(messages) ? messages : []) {
    if (isObject(message)) countIn(message['content'], found)
  }
  const chars = JSON.stringify(parameters).length - found.sourceBytes
  return Math.ceil(chars / charsPerToken) + (found.images + found.documents) * imageTokens
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
