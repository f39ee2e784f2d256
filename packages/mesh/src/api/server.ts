import { randomUUID } from 'node:crypto'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import type { Log } from '../log.ts'
import { installProblemReplies } from './problem-reply.ts'

/** A client that opens a connection and sends its request slower than this is let go. */
const requestTimeoutMs = 120_000

/** One listening door: bounded bodies, problem replies, plain security headers, no framework banner. */
export function createServer(log: Log): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: wireLimits.bodyMaxBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 75_000,
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
    // Keys of the blackboard and names of files are longer than the router's default of 100.
    routerOptions: { maxParamLength: 2048, ignoreTrailingSlash: false },
  })
  server.addHook('onSend', async (_request, reply) => {
    void reply.header('x-content-type-options', 'nosniff')
    void reply.header('cache-control', reply.getHeader('cache-control') ?? 'no-store')
  })
  installProblemReplies(server, log)
  return server
}
