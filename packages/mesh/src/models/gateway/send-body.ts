import type { ServerResponse } from 'node:http'
import type { ByteStream } from '../providers/byte-stream.ts'

/** Larger bodies are not worth a copy, bytes. */
const oneWriteMaxBytes = 64 * 1024

/** Of a stream, until the end of a turn; more is written at once, so that whoever sends it hears that it is to wait. */
const heldMaxBytes = 64 * 1024

/** Sends what follows a head that is written. Bytes of a body are never read as text: each goes out as it is. */
export function sendBody(response: ServerResponse, body: Uint8Array | ByteStream): void {
  if (body instanceof Uint8Array) endAtOnce(response, body)
  else push(response, body)
}

/** With its head in one write: Node joins them where both are text, byte for byte, and writes two pieces else. */
function endAtOnce(response: ServerResponse, body: Uint8Array): void {
  if (body.length > oneWriteMaxBytes) response.end(body)
  else response.end(textOf(body), 'latin1')
}

/**
 * Writes what comes, asks for a pause while the client is slow, and cuts the source off when it goes. What comes at the
 * end of a turn is one text with the marks of its chunks, since Node writes each mark by itself.
 */
function push(response: ServerResponse, body: ByteStream): void {
  const isChunked = response.chunkedEncoding
  // From here on the marks are written below.
  response.chunkedEncoding = false
  const mark = isChunked
    ? (bytes: Uint8Array) => `${bytes.length.toString(16)}\r\n${textOf(bytes)}\r\n`
    : textOf
  let held = ''

  function flush(): void {
    const text = held
    held = ''
    if (text !== '') response.write(text, 'latin1')
  }

  const flow = body.pipe({
    write(bytes) {
      if (bytes.length === 0) return true
      if (held === '') queueMicrotask(flush)
      held += mark(bytes)
      if (held.length > heldMaxBytes) flush()
      // False where a drain is to come, by which it goes on.
      return !response.writableNeedDrain
    },
    end() {
      const text = held
      held = ''
      response.end(isChunked ? `${text}0\r\n\r\n` : text, 'latin1')
    },
    fail: () => response.destroy(),
  })
  response.on('drain', () => flow.resume())
  response.once('close', () => flow.cut())
}

/** A character for each byte. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}
