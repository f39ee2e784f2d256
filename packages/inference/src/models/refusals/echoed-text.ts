import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** The most words of a phrase that are compared; a longer phrase counts as found if its first words are. */
const wordsMax = 40
/** The most characters between two words: quotes, spaces and escapes that a server adds or changes. */
const betweenMaxChars = 8
/** The deepest nesting that is searched; text below it counts as not found. */
const depthMax = 100

/**
 * Whether a request contains a phrase, in one of its texts or names. Providers quote the request in their errors,
 * so a phrase that the request contains does not prove anything about the provider. Letters and digits are
 * compared, without case; quotes, spaces and escapes between the words may differ. Pure.
 */
export function isEchoed(request: JsonValue, phrase: string): boolean {
  const words = phrase.match(/[\p{L}\p{N}]+/gu)?.slice(0, wordsMax) ?? []
  if (words.length === 0) return false
  const pattern = new RegExp(words.join(String.raw`[^\p{L}\p{N}]{0,${betweenMaxChars}}`), 'iu')
  return contains(request, pattern, 0)
}

function contains(value: JsonValue, pattern: RegExp, depth: number): boolean {
  if (typeof value === 'string') return pattern.test(value)
  if (depth > depthMax) return false
  if (Array.isArray(value)) return value.some((one) => contains(one, pattern, depth + 1))
  if (!isJsonObject(value)) return false
  return Object.entries(value).some(([name, one]) => pattern.test(name) || contains(one, pattern, depth + 1))
}
