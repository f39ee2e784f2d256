import { fewMarks, printable } from './color.ts'
import { columnsOf, graphemesOf, isPlain } from './columns.ts'

/** The row in which a person types. */
export interface InputRow {
  /** May hold colors. */
  readonly prompt: string
  readonly text: string
  /** Cursor position in the text, in code units. */
  readonly cursor: number
}

/** An unfinished row that fits the screen. */
export interface OpenRow {
  /** The text of the row without its last character. */
  readonly head: string
  readonly headColumns: number
  /** The last character with its combining marks; the next text may add further marks. */
  readonly last: string
  readonly isPlain: boolean
}

const emptyRow: OpenRow = { head: '', headColumns: 0, last: '', isPlain: true }
export const rowText = (row: OpenRow | null): string => (row === null ? '' : row.head + row.last)

export const rowColumns = (row: OpenRow): number => row.headColumns + columnsOf(row.last)

const tab = '    '
export const withoutTabs = (text: string): string => text.replaceAll('\t', tab)

/**
 * A row ends after this many code units for each of its columns, because some text never takes another column. A
 * family emoji takes eleven for its two columns.
 */
export const rowUnitsPerColumn = 16

/**
 * Characters that combine are processed again with each new piece of text; a sequence longer than this (in code
 * units) is not one character.
 */
const characterUnitsMax = 64

/** A prompt that leaves fewer columns for the typed text is not shown. */
const inputColumnsMin = 8

/**
 * Splits text into rows that are full or ended, and a rest that fits a row. A row ends with a line break if the text
 * has one, or if the terminal may not wrap at the same place. Pure.
 */
export function takeRows(
  open: OpenRow | null,
  text: string,
  columns: number,
): { readonly rows: string[]; readonly rest: OpenRow | null } {
  const unitsMax = columns * rowUnitsPerColumn
  const rows: string[] = []
  let row = open ?? emptyRow
  const coming = fewMarks(row.last + withoutTabs(text))
  row = { ...row, last: '' }

  function take(letter: string, width: number): void {
    const head = row.head + row.last
    const used = rowColumns(row)
    if (used + width > columns || head.length + letter.length > unitsMax) {
      rows.push(row.isPlain ? head : `${head}\n`)
      row = { ...emptyRow, last: letter, isPlain: isPlain(letter) }
    } else row = { head, headColumns: used, last: letter, isPlain: row.isPlain && isPlain(letter) }
  }

  for (const { segment } of graphemesOf(coming)) {
    if (segment === '\n') {
      rows.push(`${rowText(row)}\n`)
      row = emptyRow
      continue
    }
    const width = columnsOf(segment)
    if (width <= columns && segment.length <= characterUnitsMax) take(segment, width)
    else for (const letter of segment) take(letter, columnsOf(letter))
  }
  return { rows, rest: rowText(row) === '' ? null : row }
}

/** Fits the typed text to one row; of a longer text the part around the cursor is shown. Pure. */
export function fitInput(
  input: InputRow,
  columns: number,
): { readonly text: string; readonly cursorColumn: number } {
  // The last column stays free: on a full row some terminals move the cursor to the next one.
  const roomBeside = columns - 1 - columnsOf(input.prompt)
  const prompt = roomBeside < inputColumnsMin ? '' : input.prompt
  const room = columns - 1 - columnsOf(prompt)
  const { before, after } = lettersAround(input, columns * rowUnitsPerColumn)
  let shown = ''
  let used = 0
  for (const letter of before.toReversed()) {
    const width = columnsOf(letter)
    if (used + width > room) break
    shown = letter + shown
    used += width
  }
  const cursorColumn = columnsOf(prompt) + used
  for (const letter of after) {
    const width = columnsOf(letter)
    if (used + width > room) break
    shown += letter
    used += width
  }
  return { text: prompt + shown, cursorColumn }
}

/** Splits only as much of the text as fits: a pasted text can be very long. */
function lettersAround({ text, cursor }: InputRow, unitsMax: number): { before: string[]; after: string[] } {
  const letters = (from: number, to: number) => {
    const part = text.slice(Math.max(0, from), to).toWellFormed()
    return Array.from(graphemesOf(printable(part.replaceAll(/\s/g, ' '))), ({ segment }) => segment)
  }
  return { before: letters(cursor - unitsMax, cursor), after: letters(cursor, cursor + unitsMax) }
}
