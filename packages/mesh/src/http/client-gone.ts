import type { FastifyReply } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'

/** One shared error, because creating an error for each abort costs its stack trace. */
export const clientWentAway = new Problem('client-gone')

/**
 * Aborts when the client hangs up before it was answered. Asked of the answer: a request closes once its body is
 * read, and a socket outlives it and would keep the listeners of all its requests.
 */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(clientWentAway)
  })
  return gone.signal
}
