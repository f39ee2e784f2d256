import { columnsOf, graphemesOf } from './columns.ts'

/** Whether output has colors: only on terminals that support them, always, or never. */
export type Colors = 'auto' | 'on' | 'off'

export function hasColors(colors: Colors, isTerminal: boolean): boolean {
  return colors === 'on' || (colors === 'auto' && isTerminal)
}

/** Colors by meaning; without color support every function returns its text unchanged. */
export interface Color {
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly warning: (text: string) => string
  readonly name: (text: string) => string
}

export function createColor(enabled: boolean): Color {
  const paint = (open: number, close: number) => (text: string) =>
    enabled && text !== '' ? `\u001B[${open}m${text}\u001B[${close}m` : text
  return {
    strong: paint(1, 22),
    faint: paint(2, 22),
    good: paint(32, 39),
    bad: paint(31, 39),
    warning: paint(33, 39),
    name: paint(36, 39),
  }
}

/** Bidirectional controls and invisible characters. Joiners are allowed, because scripts and emoji need them. */
const deceiving = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g

/** Marks, joiners and tones that one character may have; more than any script or emoji needs. */
export const marksMax = 16
const mark = '[\\p{M}\\u200C\\u200D\\u{1F3FB}-\\u{1F3FF}\\u{E0020}-\\u{E007F}]'
const manyMarks = new RegExp(`(${mark}{${marksMax}})${mark}+`, 'gu')

/** Removes combining marks beyond the readable number: a character could have any number of them. */
export const fewMarks = (text: string): string => text.replace(manyMarks, '$1')

/**
 * Makes untrusted text safe to print. No control character can move the cursor, recolor the screen or set a title,
 * no invisible character changes how it reads, and no character has unlimited marks. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return (
    text
      .replace(/\r\n/g, '\n')
      // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
      .replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '\uFFFD')
      .replace(deceiving, '\uFFFD')
      .replace(manyMarks, '$1')
  )
}

// oxlint-disable-next-line eslint/no-control-regex -- escape sequences begin with a control character
const ownColors = /(\u001B\[(?:1|2|22|3[1236]|39)m)/

/**
 * One line of Flotilla that contains untrusted text. Line breaks are shown as characters, and the only escape
 * sequences are the colors of `createColor`, if the terminal has colors.
 */
export function singleLine(line: string, keepsColors = false): string {
  const parts = keepsColors ? line.split(ownColors) : [line]
  return parts
    .map((part, index) => (index % 2 === 1 ? part : printable(part).replace(/[\n\u2028\u2029]/g, '↵')))
    .join('')
}

/** Marks every line of foreign text but the first, so that none can pass for a line of Flotilla. */
export function markedLines(text: string): string[] {
  return printable(text)
    .split(/[\n\u2028\u2029]/)
    .map((line, index) => (index === 0 ? line : `  │ ${line}`))
}

/** The text on one line, cut to a number of columns. */
export function oneLine(text: string, columnsMax: number): string {
  const line = printable(text).replace(/\s+/g, ' ').trim()
  if (columnsOf(line) <= columnsMax) return line
  let cut = ''
  // One column is reserved for the ellipsis.
  let room = columnsMax - 1
  for (const { segment } of graphemesOf(line)) {
    room -= columnsOf(segment)
    if (room < 0) break
    cut += segment
  }
  return `${cut}…`
}
