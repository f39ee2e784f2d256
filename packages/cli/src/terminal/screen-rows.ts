import { columnsOf } from './color.ts'

/** What a person types. */
export interface InputRow {
  /** May hold colours. */
  readonly prompt: string
  readonly text: string
  /** Place in the text, in code units. */
  readonly cursor: number
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const tab = '    '
/** No character of these is wider than a column anywhere. */
const isPlain = /^[\x20-\x7E]*$/

/**
 * Rows that are full or ended, and the rest, which fits a row. A row ends with a line break where it was ended, or
 * where nobody can be sure that the terminal ends it in the same place. Pure.
 */
export function takeRows(text: string, columns: number): { readonly rows: string[]; readonly rest: string } {
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const { segment } of graphemes.segment(text.replaceAll('\t', tab))) {
    if (segment === '\n') {
      rows.push(`${row}\n`)
      row = ''
      used = 0
      continue
    }
    const width = columnsOf(segment)
    if (used + width > columns) {
      rows.push(isPlain.test(row) ? row : `${row}\n`)
      row = ''
      used = 0
    }
    row += segment
    used += width
  }
  return { rows, rest: row }
}

/** One row of what is typed, with the part around the cursor where it is longer. Pure. */
export function fitInput(
  { prompt, text, cursor }: InputRow,
  columns: number,
): { readonly text: string; readonly cursorColumn: number } {
  // The last column stays free: a full row moves some terminals on to the next.
  const room = columns - 1 - columnsOf(prompt)
  if (room < 1) return { text: '', cursorColumn: 0 }
  const letters = (part: string) => Array.from(graphemes.segment(part), ({ segment }) => segment)
  const before = letters(text.slice(0, cursor).replaceAll(/\s/g, ' '))
  const after = letters(text.slice(cursor).replaceAll(/\s/g, ' '))
  let shown = ''
  let used = 0
  while (before.length > 0) {
    const letter = before.pop() ?? ''
    if (used + columnsOf(letter) > room) break
    shown = letter + shown
    used += columnsOf(letter)
  }
  const cursorColumn = columnsOf(prompt) + used
  for (const letter of after) {
    if (used + columnsOf(letter) > room) break
    shown += letter
    used += columnsOf(letter)
  }
  return { text: prompt + shown, cursorColumn }
}
