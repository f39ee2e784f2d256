import { columnsOf, isPlain } from './columns.ts'
import { fitInput, rowColumns, rowText, takeRows, withoutTabs } from './screen-rows.ts'
import type { InputRow, OpenRow } from './screen-rows.ts'
import type { TextSink } from './text-sink.ts'

/**
 * The last rows of a screen while text streams in: the unfinished row of the stream, a status, and what a person
 * types. They are deleted and redrawn with each change, so that typed text never mixes with output.
 */
export interface PromptArea {
  /** Streams text as it arrives, including line breaks. */
  stream(text: string): void
  /** Prints whole lines; while a streamed row is unfinished, the lines wait for its end. */
  lines(lines: readonly string[]): void
  /** Null for none. */
  status(line: string | null): void
  /** Redraws the typed text; the window's width may have changed. */
  refresh(): void
  /** Ends the area: all output keeps its rows, and the row for typing is removed. */
  close(): void
}

/** The rows on the screen below all final output. */
interface DrawnArea {
  /** Widths in columns of the rows above the typed row. */
  readonly above: readonly number[]
  readonly cursorColumn: number
  /** Of the screen. */
  readonly columns: number
}

/** Maximum number of lines that wait for the end of a row; one more ends the row. */
const heldLinesMax = 50
const columnsDefault = 80
/**
 * A terminal that counts the columns of a character differently must not wrap to another row in the area: that row
 * would not be deleted.
 */
const staysInRow = '\u001B[?7l'
const wraps = '\u001B[?7h'

const move = (count: number, verb: string) => (count === 0 ? '' : `\u001B[${count}${verb}`)

/**
 * Moves the cursor to the start of the tail. After a change of the window's width, terminals have wrapped its rows
 * again, and the tail continues in the row of the output before it.
 */
function toTail({ above, cursorColumn }: DrawnArea, offset: number, columns: number): string {
  const [first = 0, ...others] = above
  const rows = [first + offset, ...others].map((width) => Math.max(1, Math.ceil(width / columns)))
  const up = above.length === 0 ? 0 : rows.reduce((sum, count) => sum + count, 0)
  return `\r${move(up + Math.floor(cursorColumn / columns), 'A')}${move(offset, 'C')}`
}

export function createPromptArea(out: TextSink, input: () => InputRow): PromptArea {
  let tail: OpenRow | null = null
  /** Width of the screen in columns when the tail was last fitted. */
  let fitted = 0
  /** Columns of final output in the line that the tail continues, if only the terminal wrapped that line. */
  let outputColumns = 0
  let held: string[] = []
  let status: string | null = null
  let drawn: DrawnArea | null = null

  const columns = () => Math.max(2, out.columns ?? columnsDefault)

  function erase(): string {
    const from = drawn
    drawn = null
    if (from === null) return '\r\u001B[J'
    if (from.columns === columns()) return `\r${move(from.above.length, 'A')}\u001B[J`
    const offset = outputColumns % columns()
    // The final output stays in place, and the tail gets a separate row.
    if (offset > 0) outputColumns = 0
    return `${toTail(from, offset, columns())}\u001B[J${offset > 0 ? '\n' : ''}`
  }

  function area(): string {
    const row = fitInput(input(), columns())
    const above = [
      ...(tail === null ? [] : [rowColumns(tail)]),
      ...(status === null ? [] : [columnsOf(status)]),
    ]
    drawn = { above, cursorColumn: row.cursorColumn, columns: columns() }
    const rows = `${tail === null ? '' : `${rowText(tail)}\n`}${status === null ? '' : `${status}\n`}`
    return `${staysInRow}${rows}${row.text}\r${move(row.cursorColumn, 'C')}${wraps}`
  }

  /** Prints final output above the rows that are redrawn. */
  function draw(output = ''): void {
    // A terminal moves from a full row to the next one only when more text is written.
    const onNextRow = output === '' || output.endsWith('\n') ? '' : ' \r'
    const erased = erase()
    const begin = output.lastIndexOf('\n') + 1
    outputColumns = (begin > 0 ? 0 : outputColumns) + output.length - begin
    out.write(erased + output + onNextRow + area())
  }

  /** Appends text to a row of which every column is known; nothing else is drawn. */
  function append(text: string, { above, cursorColumn }: DrawnArea): void {
    const there = `\r${move(above.length, 'A')}${move(above[0] ?? 0, 'C')}`
    out.write(`${there}${text}\r${move(above.length, 'B')}${move(cursorColumn, 'C')}`)
    drawn = { above: [(above[0] ?? 0) + text.length, ...above.slice(1)], cursorColumn, columns: columns() }
  }

  /** Adds text to the tail and returns the rows that are full. */
  function take(text: string): string[] {
    const isFitted = fitted === columns()
    fitted = columns()
    const taken = isFitted ? takeRows(tail, text, fitted) : takeRows(null, rowText(tail) + text, fitted)
    tail = taken.rest
    return taken.rows
  }

  function takeHeld(): string {
    const lines = held.map((line) => `${line}\n`).join('')
    held = []
    return lines
  }

  function endTail(): string {
    const row = tail === null ? '' : `${rowText(tail)}\n`
    tail = null
    return row
  }

  function printRows([first, ...rows]: readonly string[]): void {
    if (first === undefined) return draw()
    const lines = takeHeld()
    // A row that the terminal wraps automatically stays one line when a person copies it.
    const ended = lines === '' || first.endsWith('\n') ? first : `${first}\n`
    draw([ended, lines, ...rows].join(''))
  }

  return {
    stream(text) {
      const piece = withoutTabs(text)
      const isSure = tail?.isPlain === true && isPlain(piece) && drawn?.columns === columns()
      const rows = take(piece)
      if (isSure && drawn !== null && rows.length === 0) append(piece, drawn)
      else printRows(rows)
    },
    lines(lines) {
      held.push(...lines)
      if (tail !== null && held.length <= heldLinesMax) return
      draw(endTail() + takeHeld())
    },
    status(line) {
      if (line === status) return
      status = line
      draw()
    },
    refresh: () => printRows(take('')),
    close() {
      out.write(erase() + endTail() + takeHeld())
      outputColumns = 0
      status = null
    },
  }
}
