/** The escapes of a JSON text in their order: a whole surrogate pair, half of one, or any other escape. */
const escapes =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(\\u0000)|\\[^]/g

/**
 * Replaces halves of surrogate pairs in a JSON text, whether written as characters or as escapes, so that the parsed
 * value is well-formed too. All other text stays as it was written. Pure.
 */
export function wellFormedJson(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return replaced(whole, (half) => (half === undefined ? null : '\\ufffd'))
}

/** Removes zero characters from a JSON text, whether written as characters or as escapes. Pure. */
export function jsonWithoutZeros(text: string): string {
  return replaced(text.replaceAll('\0', ''), (_half, zero) => (zero === undefined ? null : ''))
}

function replaced(
  text: string,
  by: (half: string | undefined, zero: string | undefined) => string | null,
): string {
  if (!text.includes('\\u')) return text
  return text.replace(
    escapes,
    (escape: string, half: string | undefined, zero: string | undefined) => by(half, zero) ?? escape,
  )
}
