import type { Clock } from './clock.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** Facts with fields: a constant sentence, ids first, an error under `err`. Never a token, nor what a page or an agent wrote. */
export interface Log {
  info(fields: LogFields, sentence: string): void
  warn(fields: LogFields, sentence: string): void
  error(fields: LogFields, sentence: string): void
}

/** Writes one line of JSON for each event to the given writer. `wordsOf` decides what of an error it may contain. */
export function createJsonLog(options: {
  readonly clock: Pick<Clock, 'now'>
  readonly write: (line: string) => void
  readonly wordsOf: (err: unknown) => unknown
}): Log {
  const { clock, write, wordsOf } = options
  const at = (level: string) => (fields: LogFields, sentence: string) => {
    const { err, ...rest } = fields
    const words = err === undefined ? {} : { err: wordsOf(err) }
    write(`${JSON.stringify({ time: clock.now(), level, msg: sentence, ...rest, ...words })}\n`)
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}
