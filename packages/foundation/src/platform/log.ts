import { pino } from 'pino'
import type { LineOutput } from '@flotilla/protocol/line-output'

/** Facts with fields: `log.info({ agentId }, 'agent started')`. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, fact: string): void
  info(fields: Readonly<Record<string, unknown>>, fact: string): void
  warn(fields: Readonly<Record<string, unknown>>, fact: string): void
  error(fields: Readonly<Record<string, unknown>>, fact: string): void
}

/** JSON lines on an output that may fail at any time, each with these fields; errors go under `err`. */
export function createLog(
  level: string,
  output: Pick<LineOutput, 'write'>,
  fields: { readonly pid?: number } = {},
): Log {
  return pino({ level, base: fields, timestamp: pino.stdTimeFunctions.isoTime }, output)
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
