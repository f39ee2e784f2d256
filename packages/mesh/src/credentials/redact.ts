import { inOneGo, stepUnits } from './in-steps.ts'
import type { Steps } from './in-steps.ts'
import type { Secret } from './secret.ts'

/** Shapes of keys that providers repeat in their own error texts, whole or with stars in the middle, and of people's tokens here. */
const keyShapes =
  /\b(?:sk|pk|rk|gsk|xai|key)-[\w*.…-]{6,}|\bBearer\s+[\w.~+/=-]{8,}|\bAIza[\w-]{20,}|\bgh[opsu]_\w{16,}|\bflp_[\w-]{16,}/gu

/** Shorter values would tear holes into ordinary words. */
const secretMinChars = 6

/** Takes the given secrets, and whatever looks like a key, out of a text from outside. Pure. */
export function redact(text: string, secrets: readonly Secret[]): string {
  return inOneGo(redactInSteps(text, secrets))
}

/** The same for a text of any length, a step at a time; a row of signs that could be one key is one step. Pure. */
export function* redactInSteps(text: string, secrets: readonly Secret[]): Steps<string> {
  let clean = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value.length >= secretMinChars) clean = yield* without(clean, value)
  }
  const parts: string[] = []
  for (let from = 0; from < clean.length;) {
    const to = endOfWords(clean, from + stepUnits)
    parts.push(clean.slice(from, to).replace(keyShapes, '[secret]'))
    yield to - from
    from = to
  }
  return parts.join('')
}

function* without(text: string, value: string): Steps<string> {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    // As long as one that begins in this step can be.
    const at = text.slice(from, from + stepUnits + value.length - 1).indexOf(value)
    const to = at === -1 ? Math.min(text.length, from + stepUnits) : from + at
    parts.push(text.slice(from, to), ...(at === -1 ? [] : ['[secret]']))
    from = at === -1 ? to : to + value.length
    yield at === -1 ? stepUnits : at + value.length
  }
  return parts.join('')
}

/** Where no key goes on: before a sign that is in none, or before a word, where the word before it is not `Bearer`. */
function endOfWords(text: string, near: number): number {
  const ends = /([^\w*.…~+/=\s-])|(?<=\s)\S/gu
  ends.lastIndex = near
  for (let found = ends.exec(text); found !== null; found = ends.exec(text)) {
    if (found[1] !== undefined || !text.slice(0, found.index).trimEnd().endsWith('Bearer')) return found.index
  }
  return text.length
}
