/** The longest first line that a list shows, in characters. */
const shownMaxChars = 140

/** Returns the first line of a text that is not empty, cut to the length of a list's row. Pure. */
export function firstLine(text: string): string {
  const line = text.split('\n').find((one) => one.trim() !== '') ?? ''
  return line.length > shownMaxChars ? `${line.slice(0, shownMaxChars)} …` : line.trim()
}
