/** Limits of event readers, over a socket or a stream. */

/** After this time, in milliseconds, a reader must reconnect and authenticate again. */
export const readerLifeMs = 10 * 60_000
/** A reader with more unread bytes than this is disconnected; it can resume from its last sequence number. */
export const unreadMaxBytes = 4 * 1024 * 1024
