import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'

/** How long a refused sender may continue to send, and be silent in between, in milliseconds. */
const drainMaxMs = 10_000
/** How long a client that was refused may send nothing before its connection is closed, in milliseconds. */
const silenceMaxMs = 1000

/**
 * Called before an early refusal, while the request is still being sent: discards the rest within limits. If
 * the mesh closed the connection immediately, the sender would get a connection error instead of the reason.
 * Beyond `bytesMax` nothing is read, and the connection cannot be reused.
 */
export async function drainRefused(
  request: IncomingMessage,
  reply: FastifyReply,
  bytesMax: number,
): Promise<void> {
  // The body is complete already, or a test framework injected the request without a socket.
  if (request.complete || request.readableEnded) return
  void reply.header('connection', 'close')
  if (request.destroyed) return
  await new Promise<void>((resolve) => {
    let left = bytesMax
    const late = setTimeout(end, drainMaxMs)
    let silent = setTimeout(checkAgain, silenceMaxMs)
    const listeners = { data: part, end, error: end, close: end }
    for (const [event, listener] of Object.entries(listeners)) request.on(event, listener)
    request.resume()

    function part(bytes: Buffer): void {
      left -= bytes.length
      if (left < 0) end()
      else silent.refresh()
    }
    /** If this process was blocked for a while, reads the bytes that arrived in that time before it gives up. */
    function checkAgain(): void {
      const before = left
      setImmediate(() => {
        if (left === before) end()
        else silent = setTimeout(checkAgain, silenceMaxMs)
      })
    }
    function end(): void {
      clearTimeout(late)
      clearTimeout(silent)
      for (const [event, listener] of Object.entries(listeners)) request.off(event, listener)
      // The rest of the body is not read; an error event without a listener would end the mesh.
      request.on('error', () => undefined)
      request.pause()
      resolve()
    }
  })
}
