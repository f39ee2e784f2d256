/** A line that is only marks so far: it may become a rule, a heading of the line above, an item, or the edge of a table. */
const onlyMarks = /^\s*(?:[-=*_+#>`~]+|\d{1,9}[.)]?)\s*$/
/** A line that may become a row of a table. */
const tableLine = /^\s*\|/
const tableEdge = /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/

/**
 * As much of a text that streams in as will be drawn in the same way when more has come. What is held back is at most its
 * last lines: marks that alone would be drawn as something else for a moment, and the head of a table until the line
 * below it says that it is one. Pure.
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
  // The edge is whole when a line follows it.
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
