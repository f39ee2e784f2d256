/** The size of one piece of zeros. */
const pieceBytes = 128 * 1024

const zeros = Buffer.alloc(pieceBytes)

/** Yields zeros, a piece at a time. */
export function* zerosOf(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= pieceBytes) yield zeros.subarray(0, left)
}

/** Whether all bytes of a piece are zero. Pure. */
export function isZeros(piece: Buffer): boolean {
  for (let at = 0; at < piece.length; at += pieceBytes) {
    const part = piece.subarray(at, at + pieceBytes)
    if (!part.equals(zeros.subarray(0, part.length))) return false
  }
  return true
}
