import { limits } from '@flotilla/protocol/limits'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { endOfString } from './read-payload.ts'

/**
 * What an agent sees of a payload: indented JSON without invisible characters, cut after that to 3,000 characters, never
 * within a code point. `json` has been parsed. It is written out only as far as it is seen, since indenting all of a
 * megabyte of brackets would make hundreds of them; numbers stay as they were written, however long. Pure.
 */
export function payloadText(json: string): PromptText {
  const maxChars = limits.webhook.forwardedMaxChars
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

/** A text is cleaned in pieces, so that a megabyte of it costs no more than what is seen, characters. */
const pieceChars = 8192

/**
 * The string of a token as far as there is room for it. Escapes of what a person can read are undone; what would end
 * the string stays escaped, and so do controls.
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
