/** The most objects that are split from one text; other checks reject more calls or events. */
const objectsMax = 4096

/**
 * Splits the concatenated objects and lists at the beginning of a text, by brackets; `rest` is what follows. Pure.
 */
export function jsonTextsIn(text: string): { readonly texts: readonly string[]; readonly rest: string } {
  const texts: string[] = []
  let from = 0
  let end = objectEnd(text, from)
  while (end !== null && texts.length < objectsMax) {
    texts.push(text.slice(from, end).trim())
    from = end
    end = objectEnd(text, from)
  }
  return { texts, rest: text.slice(from) }
}

/** Returns the index after the object or list at `from`; null if it is incomplete. Reads each character once. */
function objectEnd(text: string, from: number): number | null {
  let depth = 0
  let isText = false
  for (let at = from; at < text.length; at++) {
    const character = text[at]
    if (isText) {
      if (character === '\\') at++
      else if (character === '"') isText = false
    } else if (character === '"') isText = true
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') {
      depth--
      if (depth === 0) return at + 1
      if (depth < 0) return null
    } else if (depth === 0 && !/\s/.test(character ?? '')) return null
  }
  return null
}
