import { writeSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'

export type LogFields = Readonly<Record<string, unknown>>

/** Facts with fields: a constant sentence, ids first, an error under `err`. Never a token, never a prompt. */
export interface Log {
  info(fields: LogFields, sentence: string): void
  warn(fields: LogFields, sentence: string): void
  error(fields: LogFields, sentence: string): void
}

/** One JSON line per fact on standard output, written by descriptor: the stream object alone would cost 2 ms. */
export function createLog(clock: Clock, write: (line: string) => void = writeLine): Log {
  const at = (level: string) => (fields: LogFields, sentence: string) => {
    const { err, ...rest } = fields
    const words = err === undefined ? {} : { err: wordsOf(err) }
    write(`${JSON.stringify({ time: clock.now(), level, msg: sentence, ...rest, ...words })}\n`)
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

function wordsOf(err: unknown): unknown {
  if (!(err instanceof Error)) return String(err)
  const code = 'code' in err ? { code: String(err.code) } : {}
  return {
    name: err.name,
    message: err.message,
    ...code,
    stack: err.stack?.split('\n').slice(1, 6).join('\n'),
  }
}

function writeLine(line: string): void {
  try {
    writeSync(1, line)
  } catch {
    // A reader that went away, or a full pipe, must not stop the work.
  }
}
