/** Bounds of whoever reads events, over a socket or a stream. */

/** After so many milliseconds a reader has to come back, and is asked again who it is. */
export const readerLifeMs = 10 * 60_000
/** A reader slower than this many unread bytes is let go; it can come back with its last sequence number. */
export const unreadMaxBytes = 4 * 1024 * 1024
