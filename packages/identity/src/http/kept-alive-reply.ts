import type { FastifyReply } from 'fastify'
import { alreadySent } from './bind-endpoint.ts'

/**
 * Sends a JSON response that may take hours. Clients close a connection that is silent for some minutes, so after
 * `keepAliveMs` the response starts with white space, which JSON permits. A later error closes the connection, so
 * that the client sees a broken response and never an empty one.
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
