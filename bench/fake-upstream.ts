import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { holdMark, plainReply, streamEvents } from './model-call.ts'

/**
 * A model provider that needs almost no processor time, so that only the gateway before it is measured: HTTP/1.1 on
 * bare sockets, one fixed answer per call. It runs as a process and sends its port to the parent.
 */
const headerMaxBytes = 64 * 1024
const headEnd = Buffer.from('\r\n\r\n')
const streamMark = Buffer.from('"stream":true')
const hold = Buffer.from(holdMark)

const plain = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(plainReply)}\r\nconnection: keep-alive\r\n\r\n${plainReply}`,
)
const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n',
)
/**
 * Chunks that are sent in one write. Each piece is a chunk of its own, and few writes cost less, since the load
 * shares the core.
 */
const piecesPerWrite = 10
const pieces = [
  ...streamEvents().map((event) => Buffer.from(`${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`)),
  Buffer.from('0\r\n\r\n'),
]
const [firstPiece = Buffer.alloc(0), ...laterPieces] = pieces
const streamWrites = [
  Buffer.concat([streamHead, firstPiece]),
  ...Array.from({ length: Math.ceil(laterPieces.length / piecesPerWrite) }, (_, index) =>
    Buffer.concat(laterPieces.slice(index * piecesPerWrite, (index + 1) * piecesPerWrite)),
  ),
]

/** Interval of the pieces that keep a call from counting as silent, milliseconds. */
const holdPieceMs = 5000

function holdOpen(socket: Socket): void {
  socket.write(Buffer.concat([streamHead, firstPiece]))
  const timer = setInterval(() => socket.write(firstPiece), holdPieceMs)
  socket.once('close', () => clearInterval(timer))
}

function answer(socket: Socket, body: Buffer): void {
  if (body.includes(hold)) {
    holdOpen(socket)
    return
  }
  if (!body.includes(streamMark)) {
    socket.write(plain)
    return
  }
  for (const bytes of streamWrites) socket.write(bytes)
}

function serve(socket: Socket): void {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let wantedBytes = 0
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes: Buffer) => {
    waiting.push(bytes)
    waitingBytes += bytes.length
    if (waitingBytes < wantedBytes) return
    let buffer = waiting.length === 1 ? bytes : Buffer.concat(waiting)
    wantedBytes = 0
    for (;;) {
      const head = buffer.indexOf(headEnd)
      if (head === -1) {
        if (buffer.length > headerMaxBytes) socket.destroy()
        break
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(buffer.toString('latin1', 0, head))?.[1]
      if (length === undefined) {
        socket.end('HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
        return
      }
      const end = head + headEnd.length + Number(length)
      if (buffer.length < end) {
        wantedBytes = end
        break
      }
      answer(socket, buffer.subarray(head + headEnd.length, end))
      buffer = buffer.subarray(end)
      if (buffer.length === 0) break
    }
    waiting = buffer.length === 0 ? [] : [buffer]
    waitingBytes = buffer.length
  })
}

if (import.meta.main) {
  const server = createServer(serve)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ port: typeof address === 'object' ? address?.port : null })
  })
  process.once('disconnect', () => process.exit(0))
}
