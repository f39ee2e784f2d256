import type { Clock } from '@flotilla/protocol/clock'
import { createColor, hasColors, oneLine, printable, singleLine } from './color.ts'
import type { Color, Colors } from './color.ts'
import { columnsOf } from './columns.ts'
import { jsonLine } from './json-line.ts'
import { createProgress } from './progress.ts'
import type { Progress } from './progress.ts'
import { createPromptArea } from './prompt-area.ts'
import type { PromptArea } from './prompt-area.ts'
import type { InputRow } from './screen-rows.ts'
import { createStatusLine } from './status-line.ts'
import type { StatusWords } from './status-line.ts'
import type { TextSink } from './text-sink.ts'
import { errorLines } from './format-error.ts'
import type { FormattedError } from './format-error.ts'
import { asTyped } from './typed-command.ts'

/**
 * The output of a command. Results go to standard output; progress, hints and errors to standard error. In JSON mode
 * standard output contains exactly one value and nothing else.
 */
export interface Terminal {
  readonly json: boolean
  readonly isInteractive: boolean
  /** Whether answers are shown as rendered Markdown: on a terminal with colors. Elsewhere they stay as written. */
  readonly rendersMarkdown: boolean
  readonly columns: number
  readonly color: Color
  /** How a person types this program's name, to print before a command. */
  readonly command: string
  /** Prints each argument as one line, even with foreign text in it (`singleLine`); silent in JSON mode. */
  print(...lines: readonly string[]): void
  /** Prints Flotilla's own text, in which commands are written as this person types them. */
  hint(...lines: readonly string[]): void
  /** Prints foreign text that may have several lines; silent in JSON mode. */
  printText(text: string): void
  /** Prints streamed text without a line break; silent in JSON mode. */
  stream(text: string): void
  /** Ends the row of streamed text. */
  endRow(): void
  /** Prints the result for a program; silent outside JSON mode. */
  printJson(value: unknown): void
  /** Prints lines like `print`, but on standard error: hints, warnings, errors. */
  note(...lines: readonly string[]): void
  /** Prints an error on standard error. */
  tell(error: FormattedError): void
  /** Returns Flotilla's own text with commands as this person types them, to combine it with foreign text. */
  typed(text: string): string
  /** Shows the progress of long work. */
  readonly progress: Progress
  /**
   * Shows what the command waits for, as one line that changes with the seconds; null removes it. False if the output
   * is not a terminal: then the caller uses `note`.
   */
  status(textAt: StatusWords | null): boolean
  /**
   * Shows such a line for work without other output, after one second. Does nothing without a terminal, while another
   * line is shown, or at the prompt of a conversation. Returns the function that removes the line.
   */
  working(text: () => string): () => void
  /** Prints all output above the typed text until the returned area is closed. */
  openPrompt(input: () => InputRow): Pick<PromptArea, 'refresh' | 'close'>
}

export interface TerminalOptions {
  readonly out: TextSink
  readonly err: TextSink
  readonly json: boolean
  readonly colors: Colors
  readonly clock: Clock
  /** How this program was called. */
  readonly command: string
}

const columnsDefault = 100

/** Shorter work shows no status line. */
const workToldSeconds = 1

/** The width for terminals that do not report their size. */
const columnsIn = ({ columns }: TextSink): number =>
  columns === undefined || columns === 0 ? columnsDefault : columns

export function createTerminal(options: TerminalOptions): Terminal {
  const { out, err, json } = options
  const isInteractive = out.isTTY === true && !json
  const color = createColor(!json && hasColors(options.colors, out.isTTY === true))
  const errColor = createColor(hasColors(options.colors, err.isTTY === true))
  const progress = createProgress({
    sink: err,
    color: errColor,
    animated: err.isTTY === true && options.colors !== 'off',
    clock: options.clock,
  })
  // Colors are kept if either stream supports them, because a line colored for one may be written to the other.
  const keepsColors =
    hasColors(options.colors, isInteractive) || hasColors(options.colors, err.isTTY === true)
  let area: PromptArea | null = null
  let isMidRow = false
  let working: StatusWords | null = null
  const statusLine = createStatusLine({
    clock: options.clock,
    write: (line) => {
      const row = line === null ? null : oneLine(line, columnsIn(out) - 1)
      if (area !== null) area.status(row === null ? null : color.faint(row))
      else err.write(`\r\u001B[K${row === null ? '' : errColor.faint(row)}`)
    },
  })

  function stream(text: string): void {
    if (json || text === '') return
    isMidRow = !text.endsWith('\n')
    if (area !== null) return area.stream(text)
    progress.pause()
    statusLine.pause()
    out.write(text)
  }

  function endRow(): void {
    if (isMidRow) stream('\n')
  }

  const typed = (text: string) => asTyped(text, options.command)

  function write(sink: TextSink, lines: readonly string[]): void {
    writeWhole(
      sink,
      lines.map((line) => singleLine(line, keepsColors)),
    )
  }

  function writeWhole(sink: TextSink, lines: readonly string[]): void {
    if (area !== null && sink.isTTY === true) return area.lines(lines)
    if (sink.isTTY === true || sink === out) endRow()
    progress.pause()
    statusLine.pause()
    for (const line of lines) sink.write(`${line}\n`)
  }

  return {
    json,
    isInteractive,
    rendersMarkdown: isInteractive && hasColors(options.colors, true),
    get columns() {
      return columnsIn(out)
    },
    color,
    command: options.command,
    print(...lines) {
      if (!json) write(out, lines)
    },
    hint(...lines) {
      if (!json) write(out, lines.map(typed))
    },
    printText(text) {
      if (!json) writeWhole(out, [printable(text)])
    },
    stream,
    endRow,
    printJson(value) {
      if (json) out.write(jsonLine(value))
    },
    note: (...lines) => write(err, lines),
    tell: (error) => write(err, errorLines(error, errColor, typed)),
    typed,
    progress,
    status(textAt) {
      working = null
      if (area === null && err.isTTY !== true) return false
      if (textAt === null) {
        statusLine.clear()
        return true
      }
      if (area === null) endRow()
      statusLine.show(textAt)
      return true
    },
    working(text) {
      if (json || err.isTTY !== true || area !== null || isMidRow) return () => undefined
      if (statusLine.isShown() || progress.isShown()) return () => undefined
      const shown: StatusWords = (seconds) => (seconds < workToldSeconds ? null : `${text()} (${seconds} s)`)
      statusLine.show(shown)
      working = shown
      return () => {
        if (working !== shown) return
        working = null
        statusLine.clear()
      }
    },
    openPrompt(input) {
      const opened = createPromptArea(out, input)
      area = opened
      opened.refresh()
      return {
        refresh: () => {
          if (area === opened) opened.refresh()
        },
        close: () => {
          if (area !== opened) return
          statusLine.clear()
          opened.close()
          isMidRow = false
          area = null
        },
      }
    },
  }
}

/** Prints a blank line, and a rule with a title, as wide as the terminal allows. */
export function heading(terminal: Terminal, title: string): readonly string[] {
  const width = Math.min(terminal.columns, columnsDefault)
  const rule = terminal.color.faint('─'.repeat(Math.max(0, width - columnsOf(title) - 1)))
  return ['', `${terminal.color.strong(title)} ${rule}`]
}
