import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { endOfString } from './read-payload.ts'
import { deliveryLimits } from './delivery-limits.ts'

/**
 * Returns the payload as an agent sees it: indented JSON without invisible characters, cut to 3,000
 * characters, never within a code point. `json` must be valid. Only the visible part is formatted, because
 * indenting a megabyte of brackets would produce hundreds of megabytes. Numbers stay as written. Pure.
 */
export function payloadText(json: string): PromptText {
  const maxChars = deliveryLimits.forwardedMaxChars
  let written = ''
  let depth = 0
  const indent = () => `\n${'  '.repeat(depth)}`
  for (let at = 0; at < json.length && written.length <= maxChars; at++) {
    const character = json[at] ?? ''
    switch (character) {
      case '"': {
        const end = endOfString(json, at)
        written += readable(json.slice(at, end + 1), maxChars - written.length)
        at = end
        break
      }
      case '{':
      case '[': {
        const next = nextVisible(json, at + 1)
        if (json[next] === '}' || json[next] === ']') {
          written += character + json[next]
          at = next
        } else {
          depth++
          written += character + indent()
        }
        break
      }
      case '}':
      case ']':
        depth--
        written += indent() + character
        break
      case ',':
        written += character + indent()
        break
      case ':':
        written += ': '
        break
      default:
        if (!isBlank(character)) written += character
    }
  }
  return truncatePromptText(sanitizeForPrompt(written), maxChars)
}

/** The length of pieces that are sanitized, in characters. A long text then costs no more than its visible part. */
const pieceChars = 8192

/**
 * Returns the string of a token up to the available space. Escapes of readable characters are
 * decoded; quotes, backslashes and control characters stay escaped.
 */
function readable(token: string, roomChars: number): string {
  const value = String(JSON.parse(token))
  let text = ''
  for (let at = 0; at < value.length && text.length <= roomChars;) {
    const end = at + pieceChars
    const whole = /[\uD800-\uDBFF]/.test(value[end - 1] ?? '') ? end + 1 : end
    text += sanitizeForPrompt(JSON.stringify(value.slice(at, whole)).slice(1, -1))
    at = whole
  }
  return `"${text}"`
}

function nextVisible(json: string, from: number): number {
  let at = from
  while (isBlank(json[at] ?? '')) at++
  return at
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r'
}
