import { writeSync } from 'node:fs'
import type { Clock } from '@flotilla/protocol/clock'
import { createJsonLog } from '@flotilla/protocol/json-log'
import type { Log } from '@flotilla/protocol/json-log'

/** Writes one JSON line per event to standard output. */
export function createLog(clock: Clock): Log {
  return createJsonLog({ clock, writeSome: (bytes) => writeSync(1, bytes), formatError: errorText })
}

/** Keeps the first line of an error, because later lines of Playwright's errors may contain text of the page. */
function errorText(err: unknown): string {
  return String(err).split('\n')[0]?.slice(0, 300) ?? ''
}
