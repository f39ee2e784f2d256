import { columnsOf } from './color.ts'
import { fitInput, takeRows } from './screen-rows.ts'
import type { InputRow } from './screen-rows.ts'
import type { TextSink } from './terminal.ts'

/**
 * The last rows of a screen while words stream in: the unfinished row of what streams, a status, and what a person
 * types. They are taken away and drawn again with each change, so that nothing typed lands in what is said.
 */
export interface PromptArea {
  /** Words as they come, line breaks among them. */
  stream(text: string): void
  /** Whole lines; they wait for the end of a row that is being said. */
  lines(lines: readonly string[]): void
  /** Null for none. */
  status(line: string | null): void
  /** Draws what is typed anew. */
  refresh(): void
  /** Leaves all that was said, on rows of its own, and no row for typing. */
  close(): void
}

/** Lines that wait for the end of a row; more end it. */
const heldLinesMax = 50
const columnsDefault = 80

export function createPromptArea(out: TextSink, input: () => InputRow): PromptArea {
  let tail = ''
  let held: string[] = []
  let status: string | null = null
  let rowsAbove = 0

  const columns = () => Math.max(2, out.columns ?? columnsDefault)

  function erase(): string {
    const up = rowsAbove === 0 ? '' : `\u001B[${rowsAbove}A`
    rowsAbove = 0
    return `\r${up}\u001B[J`
  }

  function area(): string {
    const above = [...(tail === '' ? [] : [tail]), ...(status === null ? [] : [status])]
    rowsAbove = above.reduce((rows, row) => rows + Math.max(1, Math.ceil(columnsOf(row) / columns())), 0)
    const row = fitInput(input(), columns())
    const right = row.cursorColumn === 0 ? '' : `\u001B[${row.cursorColumn}C`
    return `${above.map((text) => `${text}\n`).join('')}${row.text}\r${right}`
  }

  /** Said for good, above everything that is drawn again. */
  function draw(said = ''): void {
    out.write(erase() + said + area())
  }

  function takeHeld(): string {
    const lines = held.map((line) => `${line}\n`).join('')
    held = []
    return lines
  }

  return {
    stream(text) {
      const taken = takeRows(tail + text, columns())
      tail = taken.rest
      const [first, ...rows] = taken.rows
      if (first === undefined) return draw()
      const lines = takeHeld()
      // A row that the terminal ends by itself stays one line for whoever copies it.
      const ended = lines === '' || first.endsWith('\n') ? first : `${first}\n`
      draw([ended, lines, ...rows].join(''))
    },
    lines(lines) {
      held.push(...lines)
      if (tail !== '' && held.length <= heldLinesMax) return
      const row = tail === '' ? '' : `${tail}\n`
      tail = ''
      draw(row + takeHeld())
    },
    status(line) {
      if (line === status) return
      status = line
      draw()
    },
    refresh: () => draw(),
    close() {
      const row = tail === '' ? '' : `${tail}\n`
      out.write(erase() + row + takeHeld())
      tail = ''
      status = null
    },
  }
}
