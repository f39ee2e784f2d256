/** Objects in one text: more calls or events than this in one text are refused elsewhere. */
const objectsMax = 4096

/** The objects and lists that stand one behind the other at the beginning of a text, by their brackets, and the rest. Pure. */
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

/** The index after the object that begins at `from`; null for no whole object. Reads each character once. */
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
