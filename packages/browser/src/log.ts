import { writeSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'

export type LogFields = Readonly<Record<string, unknown>>

/** Facts with fields: a constant sentence, an error under `err`. Never a token, never what a page or an agent wrote. */
export interface Log {
  info(fields: LogFields, sentence: string): void
  warn(fields: LogFields, sentence: string): void
  error(fields: LogFields, sentence: string): void
}

export function createLog(clock: Clock, write: (line: string) => void = writeLine): Log {
  const at = (level: string) => (fields: LogFields, sentence: string) => {
    const { err, ...rest } = fields
    const words = err === undefined ? {} : { err: wordsOf(err) }
    write(`${JSON.stringify({ time: clock.now(), level, msg: sentence, ...rest, ...words })}\n`)
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

/** The first line: what follows it in an error of Playwright's may hold words of the page. */
function wordsOf(err: unknown): string {
  return String(err).split('\n')[0]?.slice(0, 300) ?? ''
}

function writeLine(line: string): void {
  try {
    writeSync(1, line)
  } catch {
    // A reader that went away, or a full pipe, must not stop the work.
  }
}
