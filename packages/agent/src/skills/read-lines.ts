import type { Readable } from 'node:stream'

/** Hears every whole line of a stream, until more than `maxBytes` came in all. */
export function readLines(
  stream: Readable,
  options: { readonly maxBytes: number; hear(line: string): void; tooMuch(): void },
): void {
  let size = 0
  let unread: Buffer[] = []
  stream.on('data', (piece: Buffer) => {
    size += piece.length
    if (size > options.maxBytes) {
      stream.removeAllListeners('data')
      return options.tooMuch()
    }
    let from = 0
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
      const line = Buffer.concat([...unread, piece.subarray(from, at)]).toString('utf8')
      unread = []
      from = at + 1
      options.hear(line)
    }
    if (from < piece.length) unread.push(piece.subarray(from))
  })
}
