import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { problemContentType, problemJson } from '@flotilla/protocol/problem-json'
import type { Log } from '@flotilla/foundation/platform'
import { storageFaultOf } from '@flotilla/foundation/storage'
import { sendNoSuchPage, wantsPage } from './no-such-page.ts'

/**
 * The one place that turns a failure into a response. An error that is not a Problem reveals nothing about
 * itself.
 */
export function installProblemReplies(server: FastifyInstance, log: Log): void {
  server.setErrorHandler((error, request, reply) => {
    const problem = asProblem(error, request.routeOptions.bodyLimit)
    // A client that disconnected while sending its body did not cause an internal error.
    if (problem.code === 'internal-error' && request.raw.complete) {
      log.error(
        { requestId: request.id, path: request.routeOptions.url, err: error },
        'internal error in a request; answered with internal-error',
      )
    }
    if (problem.code === 'client-gone') {
      const path = request.routeOptions.url
      log.info(
        { requestId: request.id, path },
        'a client disconnected before its answer; the answer is dropped',
      )
    }
    return sendProblem(request, reply, problem)
  })
  server.setNotFoundHandler((request, reply) =>
    wantsPage(request) ? sendNoSuchPage(reply) : sendProblem(request, reply, noSuchPath()),
  )
}

export function bodyTooLarge(maxBytes: number): Problem {
  return new Problem('body-too-large', {
    detail: `the body may have at most ${maxBytes} bytes`,
    extra: { limit_bytes: maxBytes },
  })
}

export function noSuchPath(): Problem {
  return new Problem('not-found', {
    detail: 'this API has no endpoint with this method and path',
    repair: 'Check the method and the path. The commands of flotilla --help call the endpoints for you.',
  })
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  const body = problemJson(problem, request.id)
  if (problem.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(Math.max(1, Math.ceil(problem.retryAfterSeconds))))
  }
  // The official clients of model providers retry every 5xx unless this header forbids it.
  void reply.header('x-should-retry', String(isWorthRepeating(problem)))
  return reply.code(body.status).type(problemContentType).send(JSON.stringify(body))
}

/** The mesh has already retried, so an immediate retry of the client would not help. */
function isWorthRepeating(problem: Problem): boolean {
  const { attempts } = problem.extra
  if (typeof attempts === 'number' && problem.retryAfterSeconds === undefined) return false
  return problemCatalog[problem.code].retryable
}

/** When a client may retry after the disk failed a write, in seconds. */
const storageRetrySeconds = 5

/** Fastify's own refusals get the codes of our catalogue; `bodyMaxBytes` is the limit of the route that refused. */
export function asProblem(error: unknown, bodyMaxBytes?: number): Problem {
  if (error instanceof Problem) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const fault = storageFaultOf(error)
  if (fault !== null) return new Problem(fault, { cause: error, retryAfterSeconds: storageRetrySeconds })
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyMaxBytes === undefined ? new Problem('body-too-large') : bodyTooLarge(bodyMaxBytes)
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new Problem('bad-json')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('bad-request', { detail: 'the header Content-Type must be application/json' })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('bad-request', { detail: 'Content-Length does not match the body' })
    case 'FST_ERR_BAD_URL':
      return new Problem('bad-request', { detail: 'the URL is not valid' })
    default:
      return new Problem('internal-error', { cause: error })
  }
}
