/** No column is made wider than this by blanks: what is longer stands out, and a table cannot grow by what it lacks. */
const columnCharsMax = 32

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** A table as lines of one width, for a block of code: no platform has tables. Pure. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(columnCharsMax, widthOf(cell)))
    }
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat(Math.max(0, widths[index]! - widthOf(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function widthOf(cell: string): number {
  if (cell.length > columnCharsMax * 8) return columnCharsMax
  let width = 0
  for (const _ of graphemes.segment(cell)) width += 1
  return width
}
