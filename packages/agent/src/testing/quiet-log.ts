import type { Log } from '../log.ts'

/** A log for tests that nobody reads. */
export const quietLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
