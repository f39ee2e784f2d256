import type { FastifyReply } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'

/** One shared error, because creating an error for each abort costs its stack trace. */
export const clientWentAway = new Problem('client-gone')

/**
 * Aborts when the client disconnects before it got the response. Listens on the response: a request closes once its
 * body is read, and a socket outlives the request and would collect the listeners of all its requests.
 */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(clientWentAway)
  })
  return gone.signal
}
