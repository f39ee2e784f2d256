import { spawn } from 'node:child_process'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a program has drawn on a terminal of so many columns; knows what our own programs use and refuses the rest. */
export interface Screen {
  write(text: string): void
  /** All rows, those that have scrolled away too, without spaces at their ends. */
  rows(): string[]
}

export function createScreen(columns: number): Screen {
  const rows: string[][] = [[]]
  let row = 0
  let column = 0
  let rest = ''

  function put(letter: string): void {
    if (column >= columns) {
      row++
      column = 0
    }
    rows[row] ??= []
    const cells = rows[row] ?? []
    while (cells.length < column) cells.push(' ')
    cells[column] = letter
    column++
  }

  function obey(count: number, verb: string): void {
    if (verb === 'A') row = Math.max(0, row - count)
    else if (verb === 'B') row += count
    else if (verb === 'C') column = Math.min(columns - 1, column + count)
    else if (verb === 'D') column = Math.max(0, column - count)
    else if (verb === 'G') column = count - 1
    else if (verb === 'K') rows[row]?.splice(column)
    else if (verb === 'J') {
      rows[row]?.splice(column)
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
          obey(
            Number(escape[1] === '' || escape[1] === undefined ? 1 : escape[1].split(';')[0]),
            escape[2] ?? '',
          )
          rest = rest.slice(escape[0].length)
          continue
        }
        const [letter] = rest
        if (letter === undefined || (letter === '\u001B' && rest.length < 12)) return
        rest = rest.slice(letter.length)
        if (letter === '\r') column = 0
        else if (letter === '\n') {
          row++
          rows[row] ??= []
        } else if (letter === '\b') column = Math.max(0, column - 1)
        else if (letter !== '\u0007') put(letter)
      }
    },
    rows: () => rows.map((cells) => cells.join('').trimEnd()),
  }
}

export interface PtyProgram {
  type(keys: string): void
  /** Resolves when a row matches; rejects with the screen after a generous while. */
  shows(pattern: RegExp): Promise<void>
  rows(): string[]
  ended: Promise<number | null>
  kill(): void
}

const showsMaxMs = 60_000

/** Runs a program at a pseudo-terminal, which `script` of util-linux makes. */
export function runAtTerminal(
  words: readonly string[],
  { columns, home }: { readonly columns: number; readonly home: string },
): PtyProgram {
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('script', ['-qfec', `stty cols ${columns} rows 30; exec ${quoted}`, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, FLOTILLA_HOME: home, TERM: 'xterm', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const screen = createScreen(columns)
  child.stdout.setEncoding('utf8').on('data', (piece: string) => screen.write(piece))
  return {
    type: (keys) => void child.stdin.write(keys),
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
