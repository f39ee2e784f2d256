export interface Brackets {
  take(text: string): void
  /** Whether the object has begun and is incomplete. */
  areOpen(): boolean
  areClosed(): boolean
}

/** Tracks open brackets across pieces of a JSON text; reads each character once. */
export function createBrackets(): Brackets {
  let depth = 0
  let hasBegun = false
  let isText = false
  let isEscaped = false
  return {
    take(text) {
      for (const character of text) {
        if (isEscaped) isEscaped = false
        else if (isText) {
          if (character === '\\') isEscaped = true
          else if (character === '"') isText = false
        } else if (character === '"') isText = true
        else if (character === '{' || character === '[') {
          depth++
          hasBegun = true
        } else if (character === '}' || character === ']') depth--
      }
    },
    areOpen: () => hasBegun && depth > 0,
    areClosed: () => hasBegun && depth <= 0,
  }
}
