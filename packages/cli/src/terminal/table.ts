import { columnsOf } from './columns.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Longer cells are wrapped at words to this many columns; no bound leaves them as they are. */
  readonly columnsMax?: number
}

const gap = '  '

/** A table as lines of text: titles, then rows. Cells may hold colours; a line break in one is shown. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const wrapped = rows.map((row) =>
    columns.map((column, index) => wrapCell(row[index] ?? '', column.columnsMax)),
  )
  const widths = columns.map((column, index) =>
    Math.max(columnsOf(column.title), ...wrapped.flatMap((row) => (row[index] ?? []).map(columnsOf))),
  )
  const line = (cells: readonly string[]) =>
    columns
      .map((column, index) => pad(cells[index] ?? '', widths[index] ?? 0, column.align))
      .join(gap)
      .trimEnd()
  const lines = [line(columns.map((column) => column.title)), line(widths.map((width) => '─'.repeat(width)))]
  for (const row of wrapped) {
    const height = Math.max(1, ...row.map((cell) => cell.length))
    for (let at = 0; at < height; at++) lines.push(line(row.map((cell) => cell[at] ?? '')))
  }
  return lines
}

function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)))
  return align === 'right' ? space + text : text + space
}

function wrapCell(cell: string, columnsMax: number | undefined): string[] {
  const line = cell.replace(/\r\n|[\n\u2028\u2029]/g, '↵')
  return columnsMax === undefined ? [line] : wrapLine(line, columnsMax)
}

function wrapLine(line: string, columnsMax: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (columnsOf(longer) <= columnsMax || current === '') current = longer
    else {
      lines.push(current)
      current = word
    }
  }
  return [...lines, current]
}
