import type { FastifyReply } from 'fastify'
import { alreadySent } from './bind-endpoint.ts'

/**
 * An answer in JSON that may be hours away. Clients give up a line that is silent for some minutes, so after the first
 * `keepAliveMs` the reply begins, with blanks, which JSON may begin with. What goes wrong from then on cuts the line: a
 * reader finds a broken reply and never an empty one.
 */
export async function keptAliveReply<T>(
  reply: FastifyReply,
  keepAliveMs: number,
  answer: Promise<T>,
): Promise<T | typeof alreadySent> {
  const { raw } = reply
  const blanks = setInterval(() => {
    if (raw.destroyed) return
    if (!reply.sent) {
      reply.hijack()
      raw.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    }
    raw.write(' ')
  }, keepAliveMs)
  try {
    const found = await answer
    if (!raw.headersSent) return found
    raw.end(JSON.stringify(found))
  } catch (error) {
    if (!raw.headersSent) throw error
    raw.destroy()
  } finally {
    clearInterval(blanks)
  }
  return alreadySent
}
