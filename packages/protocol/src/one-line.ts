/** A text as one line with single spaces, cut to its bound; what must not stand in it is whoever shows it to say. Pure. */
export function oneLine(text: string, maxChars: number): string {
  return text.replaceAll(/\s+/gu, ' ').trim().slice(0, maxChars)
}
