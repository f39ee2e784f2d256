/** A line of marks only: it may become a rule, a heading of the line above, a list item, or the edge of a table. */
const onlyMarks = /^\s*(?:[-=*_+#>`~]+|\d{1,9}[.)]?)\s*$/
/** A line that may become a row of a table. */
const tableLine = /^\s*\|/
const tableEdge = /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/

/**
 * Returns the part of a streamed text that will be rendered in the same way after more text has arrived. At most the
 * last lines are held back: marks that alone would render as another element, and a table head until the line below
 * confirms the table. Pure.
 */
export function settledText(text: string): string {
  const lines = text.split('\n')
  const last = lines.at(-1) ?? ''
  const withoutLast = () => lines.slice(0, -1).join('\n')
  if (isInFence(lines.slice(0, -1))) return text
  if (onlyMarks.test(last)) return withoutLast()
  if (!tableLine.test(last) && !(last === '' && tableLine.test(lines.at(-2) ?? ''))) return text
  const begin = lines.findLastIndex((line, at) => at < lines.length - 1 && !tableLine.test(line)) + 1
  const table = lines.slice(begin).filter((line) => line !== '')
  // The edge of the table is complete once another line follows.
  const hasEdge = tableEdge.test(table[1] ?? '') && lines.length > begin + 2
  if (!hasEdge) return lines.slice(0, begin).join('\n')
  return last === '' || /\|\s*$/.test(last) ? text : withoutLast()
}

/** Whether the next line is in a block of code, where Markdown marks have no meaning. */
function isInFence(lines: readonly string[]): boolean {
  let fence: string | null = null
  for (const line of lines) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark === undefined) continue
    if (fence === null) fence = mark
    else if (mark.startsWith(fence) && line.trim() === mark) fence = null
  }
  return fence !== null
}
