import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { CommandContext } from '../context.ts'
import { askForPasteMarks, endPasteMarks, pastedInput } from './pasted-input.ts'

/** The line that a person types in a terminal while output may stream at the same time. */
export interface TypingRow {
  readonly lines: Interface
  /** Hides typed text and keeps it out of the history until the returned function is called. */
  hide(): () => void
  /** Prints output above the typed row until the returned function is called. */
  beside(): () => void
}

/** Input for readline: lines of earlier conversations, newest first, and the completion function. */
export interface TypingHelp {
  readonly history: readonly string[]
  readonly complete: (line: string) => [string[], string]
}

const historyMax = 500

/**
 * readline draws the typed text at the cursor. During streaming its drawing is discarded and the terminal draws the
 * row itself; the typed text is still there afterwards.
 */
export function createTypingRow(
  { terminal, input, out }: CommandContext,
  { history, complete }: TypingHelp,
): TypingRow {
  let area: ReturnType<typeof terminal.openPrompt> | null = null
  let isDrawn = false
  let isHidden = false
  const refresh = () => {
    isDrawn = false
    area?.refresh()
  }
  const gate = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      if (isHidden) {
        // Nothing is drawn while a secret is typed, so that not even its length is shown.
        done()
        return
      }
      if (area === null) out.write(String(text))
      else if (!isDrawn) {
        isDrawn = true
        // readline adds the key to its line only after it has drawn the key, so the row is drawn a moment later.
        queueMicrotask(refresh)
      }
      done()
    },
  })
  Object.defineProperty(gate, 'columns', { get: () => out.columns })
  const lines = createInterface({
    input: pastedInput(input),
    output: gate,
    terminal: true,
    history: [...history],
    historySize: historyMax,
    removeHistoryDuplicates: true,
    completer: complete,
  })
  out.write(askForPasteMarks)
  lines.on('history', (remembered) => {
    if (isHidden) remembered.shift()
  })
  // readline learns of a new width from its output stream, and draws again. While no prompt area is open, it must
  // not: it would leave rows that the terminal wrapped, and nothing needs to be redrawn.
  const resized = () => {
    if (area !== null) gate.emit('resize')
  }
  out.on?.('resize', resized)
  lines.once('close', () => {
    out.off?.('resize', resized)
    out.write(endPasteMarks)
  })
  return {
    lines,
    hide() {
      isHidden = true
      return () => {
        isHidden = false
        out.write('\n')
      }
    },
    beside() {
      const opened = terminal.openPrompt(() => ({
        prompt: lines.getPrompt(),
        text: lines.line,
        cursor: lines.cursor,
      }))
      area = opened
      return () => {
        opened.close()
        if (area === opened) area = null
        // readline moves the cursor up by the number of rows that it expects the typed text to take.
        out.write('\n'.repeat(lines.getCursorPos().rows))
      }
    },
  }
}
