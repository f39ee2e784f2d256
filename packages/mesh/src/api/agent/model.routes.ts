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
  complete(caller: AgentCaller, body: unknown, signal: AbortSignal): Promise<ModelReply>
  listModels(caller: AgentCaller): unknown
}

export interface ModelRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly use: ModelUseCases
}

/** The model surface: what any OpenAI client inside a container talks to. */
export function modelRoutes(scope: FastifyInstance, { gate, use }: ModelRoutesDeps): void {
  const bind = createBinder(scope)

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
      const answer = await use.complete(caller, raw.body, gone.signal)
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
