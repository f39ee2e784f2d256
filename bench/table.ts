/** A table of text: the first column left, the others right. Pure. */
export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** What a reader must know to interpret the figures, one sentence each. */
  readonly notes: readonly string[]
}

const noteWidth = 108

export function renderTable(table: Table): string {
  const lines = [table.columns, ...table.rows]
  const widths = table.columns.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  )
  const render = (line: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = line[column] ?? ''
        return column === 0 ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return [
    `## ${table.title}`,
    '',
    render(table.columns),
    rule,
    ...table.rows.map(render),
    ...(table.notes.length === 0 ? [] : ['']),
    ...table.notes.flatMap((note) =>
      wrap(note, noteWidth).map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`)),
    ),
  ].join('\n')
}

/** Formats a figure with this many digits; a dash for no value. */
export function figure(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-'
}

/** Bytes as megabytes. */
export const mega = (bytes: number): string => figure(bytes / 1024 ** 2, 1)

export function ratio(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)} x` : '-'
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
