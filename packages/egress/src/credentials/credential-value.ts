import { Problem } from '@flotilla/protocol/problem'

/** Shorter values cannot be distinguished from ordinary words, so they could not be removed from responses. */
export const valueMinChars = 8
/** The maximum length of the value of a credential, in characters. */
export const valueMaxChars = 10_000

/** Returns why a value cannot serve as an agent's credential, or null. The reason never contains the value. Pure. */
export function valueFault(value: string): string | null {
  if (value.length < valueMinChars) return `the value has fewer than ${valueMinChars} characters`
  if (value.length > valueMaxChars) return `the value has more than ${valueMaxChars} characters`
  return /\p{Cc}/u.test(value) ? 'the value has a line end or another control character' : null
}

/**
 * Returns a value as it is stored: white space around it, which pasting adds, is cut off; white space inside stays.
 * Throws the Problem `unprocessable`. Pure.
 */
export function readCredentialValue(text: string): string {
  const value = text.trim()
  const fault = valueFault(value)
  if (fault === null) return value
  throw new Problem('unprocessable', {
    detail: `the credential cannot be stored: ${fault}; a value is one line of ${valueMinChars} to ${valueMaxChars} characters (encode a key of several lines as base64)`,
  })
}
