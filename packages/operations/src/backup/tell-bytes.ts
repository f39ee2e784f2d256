/** The interval of progress reports in bytes: often enough to watch, rarely enough to be cheap. */
const reportEveryBytes = 4 * 1024 * 1024

export interface MovedBytes {
  readonly bytes: number
  /** Null if the total is unknown. */
  readonly of: number | null
}
export type TellBytes = (moved: MovedBytes) => void

/** Passes the pieces on and reports progress. */
export async function* tellingBytes<Piece extends Uint8Array>(
  source: AsyncIterable<Piece>,
  of: number | null,
  tell: TellBytes,
): AsyncGenerator<Piece> {
  let bytes = 0
  let reported = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes - reported >= reportEveryBytes) {
      reported = bytes
      tell({ bytes, of })
    }
    yield piece
  }
}
