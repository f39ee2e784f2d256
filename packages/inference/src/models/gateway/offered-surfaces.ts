import type { FastifyInstance, FastifyRequest } from 'fastify'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import { Problem } from '@flotilla/protocol/problem'
import { googleSurface, modelSurface } from '@flotilla/protocol/rate-buckets'
import { isAnthropicCall, isGoogleCall } from './model-errors.ts'

const { chatCompletions, models } = meshAgentEndpoints
const { responses, messages, countTokens, embeddings, model, contents } = modelEndpoints

/** The endpoints that each family of clients can use instead. */
const offered = {
  openai: inWords([chatCompletions, responses, embeddings, models, model]),
  anthropic: inWords([messages, countTokens, models, model]),
  google: inWords(
    ['generateContent', 'streamGenerateContent?alt=sse', 'countTokens'].map((method) => ({
      ...contents,
      path: contents.path.replace('{*call}', `{model}:${method}`),
    })),
  ),
} as const

/** The length at which the requested path is cut in the problem detail. */
const surfaceMaxChars = 100

/**
 * Rejects each request below the model API that no endpoint handles, by method or path. The rejection comes after the
 * gate and before the body is read, so that an unauthenticated caller learns nothing.
 */
export function refuseOtherSurfaces(scope: FastifyInstance): void {
  const refused = async (request: FastifyRequest): Promise<void> => {
    throw notOffered(request)
  }
  const [reads, others] = [
    scope.supportedMethods.filter(isRead),
    scope.supportedMethods.filter((one) => !isRead(one)),
  ]
  for (const surface of [modelSurface, googleSurface]) {
    const route = { url: `${surface}*`, onRequest: refused, handler: async () => undefined }
    scope.route({ ...route, method: reads })
    scope.route({ ...route, method: others, config: { needs: () => ({ do: 'call-api', api: 'llm' }) } })
  }
}

/** Whether a method only reads; an agent may send such a request even without the permission `call-api`. */
function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Returns the refusal of a call that no endpoint handles. Pure. */
export function notOffered(request: FastifyRequest): Problem {
  const form = isGoogleCall(request) ? 'google' : isAnthropicCall(request) ? 'anthropic' : 'openai'
  const line = `${request.method} ${request.url}`
  const surface = (line.split('?', 1)[0] ?? '').slice(0, surfaceMaxChars)
  return new Problem('surface-not-offered', {
    detail: `the model gateway does not offer ${surface}; it offers ${offered[form]}`,
  })
}

function inWords(endpoints: readonly { readonly method: string; readonly path: string }[]): string {
  const texts = endpoints.map(({ method, path }) => `${method} ${path.replace('{*', '{')}`)
  return `${texts.slice(0, -1).join(', ')} and ${texts.at(-1) ?? ''}`
}
