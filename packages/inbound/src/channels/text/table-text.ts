/** The maximum padding of a column, in characters. Longer cells stick out, so padding cannot grow without bound. */
const columnCharsMax = 32

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** How many rows are measured or written in one step. */
const rowsPerStep = 100

/** Returns a table as aligned text for a code block, because no platform has tables. Works in steps. Pure. */
export function* tableText(rows: readonly (readonly string[])[]): Generator<void, string> {
  const widths: number[] = []
  for (const [at, row] of rows.entries()) {
    if (at % rowsPerStep === 0) yield
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(columnCharsMax, widthOf(cell)))
    }
  }
  const lines: string[] = []
  for (const [at, row] of rows.entries()) {
    if (at % rowsPerStep === 0) yield
    const cells = row.map((cell, index) => cell + ' '.repeat(Math.max(0, widths[index]! - widthOf(cell))))
    lines.push(cells.join('  ').trimEnd())
  }
  return lines.join('\n')
}

const ascii = /^[\x20-\x7E]*$/

function widthOf(cell: string): number {
  if (ascii.test(cell)) return cell.length
  if (cell.length > columnCharsMax * 8) return columnCharsMax
  let width = 0
  for (const _ of graphemes.segment(cell)) width += 1
  return width
}
