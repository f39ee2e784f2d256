import MarkdownIt from 'markdown-it'
import type { Token } from 'markdown-it'
import { createColor, printable } from './color.ts'
import type { Color } from './color.ts'
import { renderTable } from './table.ts'
import type { Column } from './table.ts'

/** A line that is longer is shown as it is. In UTF-16 code units. */
const lineMaxChars = 4000
const ruleColumns = 40
/** A table with more lines is shown as it was written, so that not all of it is held back. */
const tableLinesMax = 200
const tableRow = /^ {0,3}\|/
const tableRule = /^ {0,3}\|(?:\s*:?-+:?\s*\|)*(?:\s*:?-+:?\s*)?$/
const noColor = createColor(false)

/** Shows the Markdown of an answer while it streams. */
export interface MarkdownStream {
  /** Returns the lines that the text completes, as the terminal shows them; the last line is kept until it ends. */
  write(text: string): string
  /** Returns the line that was not complete, and begins anew. */
  end(): string
}

/**
 * Renders headings, lists, quotes, code, emphasis and links line by line, in the terminal's colors, and a table when it
 * is complete, fitted into `columnsMax` or else the terminal. HTML stays as it was written. Text may be hostile: control
 * characters are replaced before anything is colored.
 */
export function createMarkdownStream(color: Color, columnsMax?: number): MarkdownStream {
  const parser = new MarkdownIt({ html: false, linkify: false })
  let held = ''
  /** The fence that ends the current code block; null outside of one. */
  let fence: string | null = null
  /** The lines of the table that is not complete yet. */
  let table: string[] = []

  function inline(text: string, by: Color): string {
    const [parsed] = parser.parseInline(text, {})
    return paint(parsed?.children ?? [], by)
  }

  function line(text: string): string {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1]
    if (fence !== null) {
      const ends = mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length
      if (!ends || text.trim() !== mark) return color.name(text)
      fence = null
      return color.faint(text)
    }
    if (mark !== undefined) {
      fence = mark
      return color.faint(text)
    }
    return text.length > lineMaxChars ? text : outsideOfCode(text)
  }

  function outsideOfCode(text: string): string {
    if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(text)) return color.faint('─'.repeat(ruleColumns))
    const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s#+)?\s*$/.exec(text)
    // Colors inside would end the heading's own.
    if (heading) return color.strong(inline(heading[1] ?? '', noColor))
    const quote = /^ {0,3}>[> ]*/.exec(text)?.[0]
    if (quote !== undefined) return `${color.faint('│')} ${inline(text.slice(quote.length), color)}`
    const item = /^(\s*)[-*+]\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(text)
    if (!item) return inline(text, color)
    const [, indent = '', box, rest = ''] = item
    const bullet = box === undefined ? '•' : box === ' ' ? '☐' : '☑'
    return `${indent}${bullet} ${inline(rest, color)}`
  }

  /** Returns the lines that this one completes: none within a table, the whole table with the line behind it. */
  function linesAt(text: string): string[] {
    const isRow = fence === null && text.length <= lineMaxChars && tableRow.test(text)
    if (isRow && table.length < tableLinesMax) {
      table.push(text)
      return []
    }
    return [...endTable(), line(text)]
  }

  function endTable(): string[] {
    const [titles = '', rule = '', ...rows] = table
    const written = table
    table = []
    if (written.length === tableLinesMax || !tableRule.test(rule)) return written.map(line)
    const alignments = cellsOf(rule)
    const columns = cellsOf(titles).map((title, index) => ({
      title: inline(title, noColor),
      align: alignments[index]?.endsWith(':') && !alignments[index].startsWith(':') ? 'right' : 'left',
    })) satisfies Column[]
    // Colors inside a cell would go on in the next column where the cell is wrapped.
    const cells = rows.map((row) => cellsOf(row).map((cell) => inline(cell, noColor)))
    return renderTable(columns, cells, columnsMax)
  }

  return {
    write(text) {
      held += printable(text)
      const end = held.lastIndexOf('\n')
      if (end === -1) return ''
      const lines = held.slice(0, end).split('\n')
      held = held.slice(end + 1)
      return lines
        .flatMap(linesAt)
        .map((one) => `${one}\n`)
        .join('')
    },
    end() {
      const isComplete = held === ''
      const last = [...(isComplete ? [] : linesAt(held)), ...endTable()]
      held = ''
      fence = null
      return last.join('\n') + (isComplete && last.length > 0 ? '\n' : '')
    },
  }
}

/** Returns the cells of a line of a table; `\\|` within one is a sign of its text. */
function cellsOf(row: string): string[] {
  return row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
}

interface Span {
  readonly paint: (text: string) => string
  text: string
}

/** Returns the tokens of a line as text in colors. The parser has matched each opening token with its end. */
function paint(tokens: readonly Token[], by: Color): string {
  const spans: Span[] = [{ paint: (text) => text, text: '' }]
  const add = (text: string): void => {
    const open = spans.at(-1)
    if (open) open.text += text
  }
  for (const token of tokens) {
    if (token.nesting === 1) spans.push({ paint: painterOf(token, by), text: '' })
    else if (token.nesting === -1) {
      const closed = spans.pop()
      if (closed) add(closed.paint(closed.text))
    } else if (token.type === 'code_inline') add(by.name(token.content))
    else if (token.type === 'image') add(withAddress(token.content || 'picture', token.attrGet('src'), by))
    else add(token.content)
  }
  return spans.map(({ text }) => text).join('')
}

function painterOf(token: Token, by: Color): Span['paint'] {
  if (token.type === 'strong_open') return by.strong
  if (token.type === 's_open') return by.faint
  if (token.type === 'link_open') return (text) => withAddress(text, token.attrGet('href'), by)
  return (text) => text
}

/** A link shows where it leads, unless its text is the address. */
function withAddress(text: string, address: string | number | null, by: Color): string {
  return address === null || address === text ? text : `${text} ${by.faint(`(${address})`)}`
}
