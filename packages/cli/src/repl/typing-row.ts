import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { CommandContext } from '../context.ts'

/** The line that a person types in a terminal, which something else may stream into at the same time. */
export interface TypingRow {
  readonly lines: Interface
  /** From now on what is said stands above what is typed; gives the way to end that. */
  beside(): () => void
}

/**
 * readline draws what is typed wherever the cursor stands. While something streams, its drawing goes nowhere and the
 * terminal draws the row itself; what was typed is still there afterwards.
 */
export function createTypingRow({ terminal, input, out }: CommandContext): TypingRow {
  let area: ReturnType<typeof terminal.openPrompt> | null = null
  let isDrawn = false
  const refresh = () => {
    isDrawn = false
    area?.refresh()
  }
  const gate = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      if (area === null) out.write(String(text))
      else if (!isDrawn) {
        isDrawn = true
        // readline has taken the key in only after it has drawn it.
        queueMicrotask(refresh)
      }
      done()
    },
  })
  Object.defineProperty(gate, 'columns', { get: () => out.columns })
  const lines = createInterface({ input, output: gate, terminal: true })
  // readline hears of another width by its output, and draws again. Where it draws for itself it would leave the rows
  // that the terminal has broken anew, and the terminal has done all there is to do.
  const resized = () => {
    if (area !== null) gate.emit('resize')
  }
  out.on?.('resize', resized)
  lines.once('close', () => void out.off?.('resize', resized))
  return {
    lines,
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
        // readline goes up by as many rows as it believes that what is typed takes.
        out.write('\n'.repeat(lines.getCursorPos().rows))
      }
    },
  }
}
