import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** More than any known model counts for one picture, whatever its size. */
export const imageMaxTokens = 50_000

/**
 * At least as many tokens as the prompt can have: a token is never shorter than a byte, and pictures count as a
 * fixed maximum. `bodyBytes` is the length of the JSON that goes out. Pure.
 */
export function promptTokensAtMost(parameters: JsonObject, bodyBytes: number): number {
  const pictures = picturesIn(parameters['messages'])
  return Math.max(0, bodyBytes - pictures.urlBytes) + pictures.count * imageMaxTokens
}

function picturesIn(messages: JsonValue | undefined): { count: number; urlBytes: number } {
  let count = 0
  let urlBytes = 0
  for (const message of Array.isArray(messages) ? messages : []) {
    const content = isObject(message) ? message['content'] : undefined
    for (const part of Array.isArray(content) ? content : []) {
      if (!isObject(part) || part['type'] !== 'image_url') continue
      const image = part['image_url']
      const url = isObject(image) ? image['url'] : image
      count++
      // Counted as it stands in the JSON: escapes only make it longer, and what is longer stays in the estimate.
      if (typeof url === 'string') urlBytes += url.length
    }
  }
  return { count, urlBytes }
}

/**
 * At most how many tokens a stream has carried that was cut off before it told its usage. Each event is the
 * smallest one of its stream plus text; the smallest carries a few bytes of text itself. Pure.
 */
export function streamedTokensAtMost(stream: {
  readonly events: number
  readonly bytes: number
  readonly smallestEventBytes: number
}): number {
  const smallestTextBytes = 8
  return (
    Math.max(0, stream.bytes - stream.events * stream.smallestEventBytes) + stream.events * smallestTextBytes
  )
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
