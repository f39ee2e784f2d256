const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
/** What Python's and C's printers write for a number that JSON does not have. */
const noNumber = /(?:-\s*)?(?:NaN|Infinity)\b/y
/** A comma that no further member follows. */
const lastComma = /,(?=\s*[}\]])/y

/**
 * The text with the three faults mended that can be read in one way only: raw control characters in a text are escaped,
 * a comma behind the last member is removed, and, where `numbers` is set, `NaN` and `Infinity` become `null`. Anything else
 * stays as it is. Reads each character once. Pure.
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
