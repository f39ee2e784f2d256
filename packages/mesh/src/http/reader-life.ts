/** After so many milliseconds a reader of events has to come back, over a socket or a stream, and is asked again who it is. */
export const readerLifeMs = 10 * 60_000
