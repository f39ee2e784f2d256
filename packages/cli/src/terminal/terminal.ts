import type { Clock } from '@flotilla/protocol/clock'
import { columnsOf, createColor, printable, singleLine } from './color.ts'
import type { Color } from './color.ts'
import { createProgress } from './progress.ts'
import type { Progress } from './progress.ts'

/** A stream that text is written to, as far as we need one. */
export interface TextSink {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/**
 * Where a command speaks. Results go to standard output; progress, hints and errors to standard error. In JSON
 * mode standard output holds exactly one value and nothing else.
 */
export interface Terminal {
  readonly json: boolean
  readonly isInteractive: boolean
  readonly columns: number
  readonly color: Color
  /** Each of them one line for a person, whoever's text is in it (`singleLine`); silent in JSON mode. */
  print(...lines: readonly string[]): void
  /** Text of anybody that is meant to have lines; silent in JSON mode. */
  printText(text: string): void
  /** Text without a line break, as it streams in; silent in JSON mode. */
  stream(text: string): void
  /** The result for a program; silent outside JSON mode. */
  printJson(value: unknown): void
  /** The same as `print` beside the result: hints, warnings, errors. */
  note(...lines: readonly string[]): void
  /** What long work is doing. */
  readonly progress: Progress
}

export interface TerminalOptions {
  readonly out: TextSink
  readonly err: TextSink
  readonly json: boolean
  readonly noColor: boolean
  readonly clock: Clock
}

const columnsDefault = 100

export function createTerminal(options: TerminalOptions): Terminal {
  const { out, err, json } = options
  const isInteractive = out.isTTY === true && !json
  const color = createColor(isInteractive && !options.noColor)
  const errColor = createColor(err.isTTY === true && !options.noColor)
  const progress = createProgress({
    sink: err,
    color: errColor,
    animated: err.isTTY === true && !options.noColor,
    clock: options.clock,
  })
  // A line that was coloured for one of the two may go to the other.
  const keepsColors = !options.noColor && (isInteractive || err.isTTY === true)
  return {
    json,
    isInteractive,
    columns: out.columns ?? columnsDefault,
    color,
    print(...lines) {
      if (json) return
      progress.pause()
      for (const line of lines) out.write(`${singleLine(line, keepsColors)}\n`)
    },
    printText(text) {
      if (json) return
      progress.pause()
      out.write(`${printable(text)}\n`)
    },
    stream(text) {
      if (json) return
      progress.pause()
      out.write(text)
    },
    printJson(value) {
      if (json) out.write(`${terminalSafe(JSON.stringify(value))}\n`)
    },
    note(...lines) {
      progress.pause()
      for (const line of lines) err.write(`${singleLine(line, keepsColors)}\n`)
    },
    progress,
  }
}

/** A blank line, and a rule with a title, as wide as the terminal allows. */
export function heading(terminal: Terminal, title: string): readonly string[] {
  const width = Math.min(terminal.columns, columnsDefault)
  const rule = terminal.color.faint('─'.repeat(Math.max(0, width - columnsOf(title) - 1)))
  return ['', `${terminal.color.strong(title)} ${rule}`]
}

/** The same JSON: it leaves the second row of control characters as they are, and a terminal obeys them. Pure. */
function terminalSafe(json: string): string {
  return json.replace(/[\u007F-\u009F]/g, (found) => `\\u00${found.charCodeAt(0).toString(16)}`)
}
