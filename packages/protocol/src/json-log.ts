import type { Clock } from './clock.ts'
import { createLineOutput, lossSentence } from './line-output.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** A log of facts: a constant sentence, ids first, an error under `err`. Never tokens or text of pages or agents. */
export interface Log {
  info(fields: LogFields, sentence: string): void
  warn(fields: LogFields, sentence: string): void
  error(fields: LogFields, sentence: string): void
}

/**
 * Writes one line of JSON for each event. A line that cannot be written is dropped and counted, and the count is
 * written as a separate line once there is room again. `formatError` returns what may be logged of an error.
 */
export function createJsonLog(options: {
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** Writes some of the bytes and returns their number; throws the system's error on failure. */
  readonly writeSome: (bytes: Uint8Array) => number
  readonly formatError: (err: unknown) => unknown
}): Log {
  const { clock, writeSome, formatError } = options
  const lineOf = (level: string, sentence: string, fields: LogFields): string =>
    `${JSON.stringify({ time: clock.now(), level, msg: sentence, ...fields })}\n`
  const output = createLineOutput({
    writeSome,
    lossLine: (dropped, code) => lineOf('warn', lossSentence(dropped, code), { dropped }),
    later: (work, ms) => void clock.sleep(ms).then(work),
  })
  const at = (level: string) => (fields: LogFields, sentence: string) => {
    const { err, ...rest } = fields
    const errorField = err === undefined ? {} : { err: formatError(err) }
    output.write(lineOf(level, sentence, { ...rest, ...errorField }))
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}
