import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { eastAsianWidth } from 'get-east-asian-width'
import { patient } from './patience.ts'

/** A terminal screen. Supports the control sequences that Flotilla's programs use and rejects others. */
export interface Screen {
  write(text: string): void
  /** Changes the window's width; rows that the terminal wrapped by itself are wrapped again, as most terminals do. */
  resize(columns: number): void
  /** All rows including those scrolled away, without trailing spaces. */
  rows(): string[]
}

/** Each cell holds a character with its combining marks; the second cell of a wide character is empty. */
interface ScreenRow {
  cells: string[]
  /** The terminal wrapped the text to the next row by itself. */
  isWrapped: boolean
}

/** Characters that belong in the cell of the character before them. */
const joins = /^[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}]$/u
/** Characters that make the one before wide: the emoji variation selector and the keycap. */
const widens = /^[\uFE0F\u20E3]$/

export function createScreen(width: number): Screen {
  const rows: ScreenRow[] = [{ cells: [], isWrapped: false }]
  let columns = width
  let row = 0
  let column = 0
  let isWrapping = true
  let rest = ''

  function rowAt(at: number): ScreenRow {
    while (rows.length <= at) rows.push({ cells: [], isWrapped: false })
    return rows[at] ?? { cells: [], isWrapped: false }
  }

  function join(letter: string): boolean {
    const { cells } = rowAt(row)
    const at = column > 0 && cells[column - 1] === '' ? column - 2 : column - 1
    const before = cells[at]
    if (before === undefined || !(joins.test(letter) || before.endsWith('\u200D'))) return false
    cells[at] = before + letter
    if (widens.test(letter) && at === column - 1 && column < columns) cells[column++] = ''
    return true
  }

  function put(letter: string): void {
    if (join(letter)) return
    const wide = eastAsianWidth(letter.codePointAt(0) ?? 0)
    if (column + wide > columns && isWrapping) {
      rowAt(row).isWrapped = true
      row++
      column = 0
    }
    column = Math.min(column, columns - wide)
    const { cells } = rowAt(row)
    while (cells.length < column) cells.push(' ')
    cells[column] = letter
    if (wide === 2) cells[column + 1] = ''
    column += wide
  }

  function obey(count: number, verb: string): void {
    if (verb === 'A') row = Math.max(0, row - count)
    else if (verb === 'B') row += count
    else if (verb === 'C') column = Math.min(columns - 1, column + count)
    else if (verb === 'D') column = Math.max(0, column - count)
    else if (verb === 'G') column = count - 1
    else if (verb === 'K') rows[row]?.cells.splice(column)
    else if (verb === 'J') {
      rows[row]?.cells.splice(column)
      rows.splice(row + 1)
    } else if (verb !== 'm' && verb !== 'h' && verb !== 'l') throw new Error(`unknown escape ${verb}`)
  }

  return {
    write(text) {
      rest += text
      for (;;) {
        // oxlint-disable-next-line eslint/no-control-regex -- escape sequences begin with a control character
        const escape = /^\u001B\[\??([0-9;]*)([A-Za-z])/.exec(rest)
        if (escape) {
          const [whole, numbers = '', verb = ''] = escape
          obey(Number(numbers === '' ? 1 : numbers.split(';')[0]), verb)
          if (whole === '\u001B[?7l') isWrapping = false
          if (whole === '\u001B[?7h') isWrapping = true
          rest = rest.slice(whole.length)
          continue
        }
        const [letter] = rest
        if (letter === undefined || (letter === '\u001B' && rest.length < 12)) return
        rest = rest.slice(letter.length)
        if (letter === '\r') column = 0
        else if (letter === '\n') {
          row++
          rowAt(row)
        } else if (letter === '\b') column = Math.max(0, column - 1)
        else if (letter !== '\u0007') put(letter)
      }
    },
    resize(next) {
      const before = rows.splice(0)
      let place = { row: 0, column: 0 }
      let line: string[] = []
      let cursorInLine: number | null = null
      for (const [at, { cells, isWrapped }] of before.entries()) {
        if (at === row) cursorInLine = line.length + column
        line.push(...cells)
        if (isWrapped) continue
        const first = rows.length
        const pieces = broken(line, next)
        rows.push(...pieces)
        if (cursorInLine !== null)
          place = { row: first + Math.floor(cursorInLine / next), column: cursorInLine % next }
        line = []
        cursorInLine = null
      }
      columns = next
      ;({ row, column } = place)
      rowAt(row)
    },
    rows: () => rows.map(({ cells }) => cells.join('').trimEnd()),
  }
}

function broken(line: readonly string[], columns: number): ScreenRow[] {
  const pieces: ScreenRow[] = []
  for (let at = 0; at === 0 || at < line.length; at += columns)
    pieces.push({ cells: line.slice(at, at + columns), isWrapped: at + columns < line.length })
  return pieces
}

export interface PtyProgram {
  type(keys: string): void
  /** Resizes as a person drags the window border; the program gets SIGWINCH. Resolves after it has drawn again. */
  resize(columns: number): Promise<void>
  /** Resolves when a row matches; rejects with the screen content at a generous deadline. */
  shows(pattern: RegExp): Promise<void>
  rows(): string[]
  ended: Promise<number | null>
  kill(): void
}

const showsMaxMs = patient(60_000)

/** Runs a program at a pseudo-terminal, which `script` of util-linux provides. */
export function runAtTerminal(
  words: readonly string[],
  { columns, home }: { readonly columns: number; readonly home: string },
): PtyProgram {
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn(
    'script',
    ['-qfec', `tty > '${home}/terminal-name'; stty cols ${columns} rows 30; exec ${quoted}`, '/dev/null'],
    {
      env: { PATH: process.env['PATH'] ?? '', HOME: home, FLOTILLA_HOME: home, TERM: 'xterm', NO_COLOR: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const screen = createScreen(columns)
  child.stdout.setEncoding('utf8').on('data', (piece: string) => screen.write(piece))
  return {
    type: (keys) => void child.stdin.write(keys),
    resize: async (next) => {
      const name = (await readFile(join(home, 'terminal-name'), 'utf8')).trim()
      screen.resize(next)
      const redrawn = once(child.stdout, 'data', { signal: AbortSignal.timeout(showsMaxMs) })
      await Promise.all([redrawn, promisify(execFile)('stty', ['-F', name, 'cols', String(next)])])
    },
    shows: async (pattern) => {
      const lateAt = performance.now() + showsMaxMs
      while (!screen.rows().some((row) => pattern.test(row))) {
        if (performance.now() > lateAt)
          throw new Error(`${String(pattern)} never came:\n${screen.rows().join('\n')}`)
        await sleep(20)
      }
    },
    rows: () => screen.rows(),
    ended: new Promise((resolve) => child.once('close', resolve)),
    kill: () => void child.kill('SIGKILL'),
  }
}
