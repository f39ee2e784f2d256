import type { Log } from '@flotilla/protocol/json-log'

/** A log for tests that nobody reads. */
export const quietLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
