import { columnsOf, graphemesOf } from './columns.ts'

// oxlint-disable-next-line eslint/no-control-regex -- escape sequences begin with a control character
const colors = /(\u001B\[[0-9;]*m)/

/** Cuts a line of Flotilla to a number of columns and closes its colors. Pure. */
export function fitLine(line: string, columnsMax: number): string {
  if (columnsOf(line) <= columnsMax) return line
  let cut = ''
  // One column of the row is reserved for the ellipsis.
  let room = columnsMax - 1
  let isFull = false
  for (const [index, part] of line.split(colors).entries()) {
    if (index % 2 === 1) cut += part
    else if (!isFull) {
      for (const { segment } of graphemesOf(part)) {
        room -= columnsOf(segment)
        isFull = room < 0
        if (isFull) break
        cut += segment
      }
      if (isFull) cut += '…'
    }
  }
  return cut
}
