import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import { alreadySent, createBinder } from '../bind-endpoint.ts'
import type { AgentCaller, createAgentGate } from './gate.ts'

export interface ModelReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | PushedBytes
}

/** Bytes that are pushed to the socket as they come. */
interface PushedBytes {
  pipe(sink: {
    /** False asks for no more until `resume`. */
    write(bytes: Uint8Array): boolean
    end(): void
    fail(error: unknown): void
  }): { resume(): void; cut(): void }
}

/** What the door's hook would have added. */
const bypassed = { 'x-content-type-options': 'nosniff' }

/** One for all: an abort with a fresh error costs its stack. */
const clientWentAway = new Error('the client went away')

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
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  bind(endpoints.models, api.models, async ({ raw }) => use.listModels(gate.modelSurface(raw)))
  bind(
    endpoints.chatCompletions,
    { ...api.chatCompletions, bodyMaxBytes: wireLimits.modelBodyMaxBytes },
    async ({ raw, reply }) => {
      const caller = gate.modelSurface(raw)
      const gone = new AbortController()
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) gone.abort(clientWentAway)
      })
      const body = Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0)
      const answer = await use.complete(caller, body, gone.signal)
      // From here on the bytes bypass the framework, and its hooks with it.
      reply.hijack()
      if (answer.body instanceof Uint8Array) {
        const length = { 'content-length': answer.body.length, 'cache-control': 'no-store' }
        reply.raw.writeHead(answer.status, { ...bypassed, ...length, ...answer.headers })
        reply.raw.end(answer.body)
      } else {
        reply.raw.writeHead(answer.status, { ...bypassed, ...answer.headers })
        push(answer.body, reply.raw)
      }
      return alreadySent
    },
  )
}

/** Writes what comes, asks for a pause while the client is slow, and cuts the source off when it goes. */
function push(body: PushedBytes, response: ServerResponse): void {
  const flow = body.pipe({
    write: (bytes) => response.write(bytes),
    end: () => response.end(),
    fail: () => response.destroy(),
  })
  response.on('drain', () => flow.resume())
  response.once('close', () => flow.cut())
}
