import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'

/** What a refused sender may still send before it is hung up on, so that it reads why; bytes and milliseconds. */
const drainMaxBytes = 1024 * 1024
const drainMaxMs = 250

/**
 * Before a reply that comes while its request still does: lets the sender finish, within bounds, and keeps nothing. What
 * is left then is not read; the connection cannot be used again.
 */
export async function drainRefused(request: IncomingMessage, reply: FastifyReply): Promise<void> {
  // Read to its end, as a framework may give it that never was on a wire; or closed already: somebody else has drained it.
  if (request.complete || request.readableEnded || reply.getHeader('connection') === 'close') return
  void reply.header('connection', 'close')
  if (request.destroyed) return
  await new Promise<void>((resolve) => {
    let left = drainMaxBytes
    const late = setTimeout(end, drainMaxMs)
    const heard = { data: part, end, error: end, close: end }
    for (const [event, listener] of Object.entries(heard)) request.on(event, listener)
    request.resume()

    function part(bytes: Buffer): void {
      left -= bytes.length
      if (left < 0) end()
    }
    function end(): void {
      clearTimeout(late)
      for (const [event, listener] of Object.entries(heard)) request.off(event, listener)
      // What still comes is nobody's; an error without a listener would end the mesh.
      request.on('error', () => undefined)
      request.pause()
      resolve()
    }
  })
}
