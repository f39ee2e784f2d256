/** The most backticks that follow one another in a text. Pure. */
export function longestTicks(text: string): number {
  let longest = 0
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length)
  return longest
}

/**
 * A text as a block of code: its fence is longer than any row of backticks within, so that the text cannot end it.
 * Pure.
 */
export function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestTicks(text) + 1))
  return `${fence}${language}\n${text}\n${fence}`
}
