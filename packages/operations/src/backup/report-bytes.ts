/** The interval of progress reports in bytes: often enough to watch, rarely enough to be cheap. */
const reportEveryBytes = 4 * 1024 * 1024

export interface MovedBytes {
  readonly bytes: number
  /** Null if the total is unknown. */
  readonly of: number | null
}
export type ReportBytes = (moved: MovedBytes) => void

/** Passes the pieces on and reports progress. */
export async function* reportingBytes<Piece extends Uint8Array>(
  source: AsyncIterable<Piece>,
  of: number | null,
  report: ReportBytes,
): AsyncGenerator<Piece> {
  let bytes = 0
  let reported = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes - reported >= reportEveryBytes) {
      reported = bytes
      report({ bytes, of })
    }
    yield piece
  }
}
