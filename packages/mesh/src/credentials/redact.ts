import type { Secret } from './secret.ts'

/** Shapes of keys that providers repeat in their own error texts, whole or with stars in the middle, and of people's tokens here. */
const keyShapes =
  /\b(?:sk|pk|rk|gsk|xai|key)-[\w*.…-]{6,}|\bBearer\s+[\w.~+/=-]{8,}|\bAIza[\w-]{20,}|\bgh[opsu]_\w{16,}|\bflp_[\w-]{16,}/gu

/** Shorter values would tear holes into ordinary words. */
const secretMinChars = 6

/** Takes the given secrets, and whatever looks like a key, out of a text from outside. Pure. */
export function redact(text: string, secrets: readonly Secret[]): string {
  let clean = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value.length >= secretMinChars) clean = clean.replaceAll(value, '[secret]')
  }
  return clean.replace(keyShapes, '[secret]')
}
