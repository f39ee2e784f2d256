/**
 * A text as one line with single spaces, cut to its bound; the caller removes characters that must not appear. Pure.
 */
export function oneLine(text: string, maxChars: number): string {
  return text.replaceAll(/\s+/gu, ' ').trim().slice(0, maxChars)
}
