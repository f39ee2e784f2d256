export interface LineHandler<Into> {
  /** Receives the next part of the open line; parts may be empty. */
  take(part: string): void
  /** Receives the end of the open line. */
  endLine(into: Into): void
}

/**
 * Splits a text stream into lines, wherever its pieces were cut; LF, CR and CRLF end a line (WHATWG HTML 9.2). Each
 * character is read once. Create one splitter per stream; `into` is passed on to `endLine`.
 */
export function createLineSplitter<Into>(handler: LineHandler<Into>): (piece: string, into: Into) => void {
  let afterReturn = false
  return (piece, into) => {
    // Skips the LF of a CRLF whose CR ended the previous piece.
    let from = afterReturn && piece.startsWith('\n') ? 1 : 0
    if (piece !== '') afterReturn = false
    const ends = /\r\n|\n|\r/g
    ends.lastIndex = from
    for (let end = ends.exec(piece); end; end = ends.exec(piece)) {
      handler.take(piece.slice(from, end.index))
      from = end.index + end[0].length
      handler.endLine(into)
      afterReturn = end[0] === '\r' && from === piece.length
    }
    handler.take(piece.slice(from))
  }
}
