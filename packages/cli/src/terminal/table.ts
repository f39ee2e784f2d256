import { columnsOf } from './columns.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Longer cells are wrapped at words to this many columns; if absent, cells are not wrapped. */
  readonly columnsMax?: number
}

const gap = '  '

/** A column of words is not made narrower than this to fit. */
const wordsColumnsMin = 16

/**
 * Returns a table as lines: titles, then rows. Cells may contain colors; line breaks in cells are shown as signs. If
 * the terminal is too narrow, columns of words are wrapped; if that does not suffice, each row becomes several lines.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  tableColumnsMax: number = process.stdout.columns > 0 ? process.stdout.columns : Number.POSITIVE_INFINITY,
): string[] {
  const fitted = fitColumns(columns, rows, tableColumnsMax)
  return fitted === null ? asRecords(columns, rows, tableColumnsMax) : asGrid(fitted, rows)
}

/** Returns the columns with widths that fit into `tableColumnsMax`; null if no widths fit. */
function fitColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  tableColumnsMax: number,
): readonly Column[] | null {
  const widthOf = (column: Column, index: number) =>
    Math.max(
      columnsOf(column.title),
      ...rows.flatMap((row) => wrapCell(row[index] ?? '', column.columnsMax).map(columnsOf)),
    )
  const widths = columns.map(widthOf)
  const longestWords = columns.map((column, index) =>
    Math.max(columnsOf(column.title), ...rows.flatMap((row) => (row[index] ?? '').split(' ').map(columnsOf))),
  )
  const total = () => widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1)
  while (total() > tableColumnsMax) {
    // Narrows the widest column that can still be wrapped. Words are never broken, so that ids can be copied.
    const room = widths.map((width, index) => {
      const least = Math.max(longestWords[index] ?? 0, Math.min(width, wordsColumnsMin))
      return width > least ? width : 0
    })
    const widest = room.indexOf(Math.max(...room))
    if ((room[widest] ?? 0) === 0) return null
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return columns.map((column, index) => ({ ...column, columnsMax: widths[index] ?? 0 }))
}

/** Each row as lines of title and value, with a blank line between rows. */
function asRecords(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  columnsMax: number,
): string[] {
  const titles = Math.max(...columns.map(({ title }) => columnsOf(title)))
  const valueColumns = Math.max(wordsColumnsMin, columnsMax - titles - gap.length)
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...columns.flatMap(({ title }, index) => {
      const value = row[index] ?? ''
      if (value === '') return []
      return wrapCell(value, valueColumns).map(
        (line, part) => `${pad(part === 0 ? title : '', titles)}${gap}${line}`,
      )
    }),
  ])
}

function asGrid(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
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
