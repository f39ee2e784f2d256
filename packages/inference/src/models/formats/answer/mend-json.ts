const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
/** Non-JSON numbers that Python and C print: `NaN` and `Infinity`. */
const noNumber = /(?:-\s*)?(?:NaN|Infinity)\b/y
/** A trailing comma: a closing bracket follows it. */
const lastComma = /,(?=\s*[}\]])/y

/**
 * Repairs three faults of JSON that have only one reading: raw control characters in a string are escaped, a trailing
 * comma is removed, and, if `numbers` is set, `NaN` and `Infinity` become `null`. Anything else is left unchanged.
 * Reads each character once. Pure.
 */
export function mendJson(text: string, { numbers }: { readonly numbers: boolean }): string {
  const mended: string[] = []
  let from = 0
  let isText = false
  const replace = (at: number, chars: number, by: string): void => {
    mended.push(text.slice(from, at), by)
    from = at + chars
  }
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (isText) {
      if (character === '\\') at++
      else if (character === '"') isText = false
      else if (character < ' ') replace(at, 1, escapeOf(character))
    } else if (character === '"') isText = true
    else if (character === ',') {
      lastComma.lastIndex = at
      if (lastComma.test(text)) replace(at, 1, '')
    } else if (numbers && (character === '-' || character === 'N' || character === 'I')) {
      noNumber.lastIndex = at
      const [found] = noNumber.exec(text) ?? []
      if (found === undefined) continue
      replace(at, found.length, 'null')
      at += found.length - 1
    }
  }
  return from === 0 ? text : mended.join('') + text.slice(from)
}

function escapeOf(character: string): string {
  return escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
