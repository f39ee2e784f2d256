import type { Log } from '@flotilla/protocol/json-log'

/** A log that discards everything, for tests. */
export const quietLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
