import { pino } from 'pino'

/** Facts with fields: `log.info({ agentId }, 'agent started')`. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, fact: string): void
  info(fields: Readonly<Record<string, unknown>>, fact: string): void
  warn(fields: Readonly<Record<string, unknown>>, fact: string): void
  error(fields: Readonly<Record<string, unknown>>, fact: string): void
}

/** JSON lines on standard output, each with these fields; errors go under `err`. */
export function createLog(level: string, fields: { readonly pid?: number } = {}): Log {
  return pino({ level, base: fields, timestamp: pino.stdTimeFunctions.isoTime })
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
