import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import { alreadySent, createBinder } from '../bind-endpoint.ts'
import type { AgentCaller, createAgentGate } from './gate.ts'

export interface ModelReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

export interface ModelUseCases {
  /** `body` as it came: its keys, order and numbers are the client's business until the use case has read them. */
  complete(caller: AgentCaller, body: Uint8Array, signal: AbortSignal): Promise<ModelReply>
  listModels(caller: AgentCaller): unknown
}

export interface ModelRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly use: ModelUseCases
}

/** The model surface: what any OpenAI client inside a container talks to. */
export function modelRoutes(scope: FastifyInstance, { gate, use }: ModelRoutesDeps): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', gate.refuseStrangers)
  scope.removeContentTypeParser('application/json')
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  bind(endpoints.models, api.models, async ({ raw }) => use.listModels(gate.modelSurface(raw)))
  bind(
    endpoints.chatCompletions,
    { ...api.chatCompletions, bodyMaxBytes: wireLimits.modelBodyMaxBytes },
    async ({ raw, reply }) => {
      const caller = gate.modelSurface(raw)
      const gone = new AbortController()
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) gone.abort(new Error('the client went away'))
      })
      const answer = await use.complete(caller, Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0), gone.signal)
      void reply.code(answer.status).headers(answer.headers)
      await reply.send(
        answer.body instanceof Uint8Array
          ? Buffer.from(answer.body)
          : Readable.from(answer.body, { objectMode: false }),
      )
      return alreadySent
    },
  )
}
