import { pino } from 'pino'
import type { LineOutput } from '@flotilla/protocol/line-output'

/** Facts with fields: `log.info({ agentId }, 'agent started')`. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, fact: string): void
  info(fields: Readonly<Record<string, unknown>>, fact: string): void
  warn(fields: Readonly<Record<string, unknown>>, fact: string): void
  error(fields: Readonly<Record<string, unknown>>, fact: string): void
}

/** Creates a log of JSON lines, each with these fields; the output may fail at any time. Errors go under `err`. */
export function createLog(
  level: string,
  output: Pick<LineOutput, 'write'>,
  fields: { readonly pid?: number } = {},
): Log {
  return pino({ level, base: fields, timestamp: pino.stdTimeFunctions.isoTime }, output)
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
