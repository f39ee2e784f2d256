import { columnsOf } from '../terminal/columns.ts'

/** If the command has more columns, its summary is printed below it. */
const wordsColumnsMax = 32
const gap = '  '
/** In a narrower terminal, every summary is printed below its command. */
const besideColumnsMin = 60

/** Formats commands with their summaries beside them, wrapped at words. Pure. */
export function usageRows(
  rows: readonly { readonly words: string; readonly summary: string }[],
  columns: number,
): readonly string[] {
  const isNarrow = columns < besideColumnsMin
  const short = rows.map(({ words: usage }) => columnsOf(usage)).filter((width) => width <= wordsColumnsMax)
  const indent = isNarrow ? gap.length * 2 : Math.max(0, ...short) + gap.length
  return rows.flatMap(({ words: usage, summary }) => {
    const lines = wrapWords(summary, columns - indent).map((line) => ' '.repeat(indent) + line)
    const width = columnsOf(usage)
    if (isNarrow || width + gap.length > indent) return [usage, ...lines]
    return [usage.padEnd(indent) + (lines[0] ?? '').slice(indent), ...lines.slice(1)]
  })
}

/** Wraps words into lines of at most this many columns; only a longer word exceeds them. Pure. */
export function wrapWords(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && columnsOf(longer) >= columns) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
