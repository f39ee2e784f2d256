import type { FastifyInstance, FastifyRequest } from 'fastify'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import { googleSurface } from '@flotilla/protocol/rate-buckets'
import { Problem } from '@flotilla/protocol/problem'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import { anthropicErrorBody } from '../formats/anthropic-error.ts'
import { googleErrorBody } from '../formats/google-error.ts'
import { withOpenAiError } from '../formats/openai-error.ts'
import { asProblem } from '@flotilla/identity/http'

/** Whether the client is Anthropic's: all of them send `anthropic-version`, on every path. */
export function isAnthropicCall(request: FastifyRequest): boolean {
  return 'anthropic-version' in request.headers || request.url.startsWith(modelEndpoints.messages.path)
}

/** Whether the client is Google's: all of them name themselves or send their key so, and version 1beta is theirs. */
export function isGoogleCall({ headers, url }: FastifyRequest): boolean {
  return 'x-goog-api-key' in headers || 'x-goog-api-client' in headers || url.startsWith(googleSurface)
}

/**
 * Each client gets errors in its own format, whichever layer rejects: gate, framework or use case. OpenAI clients
 * look for `error` beside the fields of a problem; Anthropic's and Google's clients get a body of their own.
 */
export function refuseInClientFormat(scope: FastifyInstance): void {
  scope.setErrorHandler((error) => {
    throw withOpenAiError(asProblem(error))
  })
  scope.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode < 400 || typeof payload !== 'string') return payload
    if (isGoogleCall(request)) {
      void reply.type('application/json')
      return JSON.stringify(googleErrorBody(problemIn(payload)))
    }
    if (!isAnthropicCall(request)) return payload
    void reply.header('request-id', request.id).type('application/json')
    return JSON.stringify(anthropicErrorBody(problemIn(payload), request.id))
  })
}

/** Parses the problem that the gateway has just written. */
function problemIn(payload: string): Problem {
  const fields = JSON.parse(payload) as { code?: unknown; detail?: unknown }
  const code = typeof fields.code === 'string' && isProblemCode(fields.code) ? fields.code : 'internal-error'
  return new Problem(code, typeof fields.detail === 'string' ? { detail: fields.detail } : {})
}
