/** Told after each so many bytes: often enough to watch, seldom enough to cost nothing. */
const tellEveryBytes = 4 * 1024 * 1024

export interface MovedBytes {
  readonly bytes: number
  /** Null where nobody knows it beforehand. */
  readonly of: number | null
}
export type TellBytes = (moved: MovedBytes) => void

/** The same pieces, told as they pass. */
export async function* tellingBytes<Piece extends Uint8Array>(
  source: AsyncIterable<Piece>,
  of: number | null,
  tell: TellBytes,
): AsyncGenerator<Piece> {
  let bytes = 0
  let told = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes - told >= tellEveryBytes) {
      told = bytes
      tell({ bytes, of })
    }
    yield piece
  }
}
