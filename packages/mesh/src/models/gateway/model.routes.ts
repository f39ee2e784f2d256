import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import { modelApi, modelEndpoints } from '@flotilla/protocol/model-api'
import { alreadySent, createBinder } from '../../http/bind-endpoint.ts'
import { clientGone } from '../../http/client-gone.ts'
import type { AgentCaller, createAgentGate } from '../../http/gates/agent-gate.ts'
import { takeBodies } from '../../http/take-bodies.ts'
import { isAnthropicCall, refuseInDialect } from './model-errors.ts'
import { refuseOtherSurfaces } from './offered-surfaces.ts'

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

interface ModelCall {
  /** As it came: its keys, order and numbers are the client's business until the use case has read them. */
  readonly body: Uint8Array
  readonly signal: AbortSignal
  readonly betas: readonly string[]
  readonly asksAgain: boolean
  /** Counts bytes of an answer that are kept until the call is over. */
  readonly hold: (bytes: number) => void
  /** The call is not over, though its client hangs up, until what this returns is called. */
  readonly keep: () => () => void
}

type CallModel = (caller: AgentCaller, call: ModelCall) => Promise<ModelReply>
type ListForm = 'openai' | 'anthropic'

export interface ModelUseCases {
  readonly complete: CallModel
  readonly messages: CallModel
  readonly embeddings: CallModel
  countTokens(caller: AgentCaller, call: ModelCall): Promise<{ readonly body: string }>
  readonly listModels: {
    list(caller: AgentCaller, form: ListForm): unknown
    one(caller: AgentCaller, id: string, form: ListForm): unknown
  }
}

export interface ModelRoutesDeps {
  readonly gate: ReturnType<typeof createAgentGate>
  readonly use: ModelUseCases
}

/** The model surface: what any OpenAI or Anthropic client inside a container talks to. */
export function modelRoutes(scope: FastifyInstance, { gate, use }: ModelRoutesDeps): void {
  const bind = createBinder(scope, gate.spend)
  const bounds = { bodyMaxBytes: wireLimits.modelBodyMaxBytes }
  scope.addHook('onRequest', gate.admitToModels)
  takeBodies(scope, gate, (body) => body)
  refuseInDialect(scope)
  refuseOtherSurfaces(scope)

  function answerBy(call: CallModel) {
    return async ({ raw, reply }: { raw: FastifyRequest; reply: FastifyReply }) => {
      const caller = gate.modelSurface(raw)
      const answer = await call(caller, callOf(gate, raw, reply))
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
    }
  }

  bind(endpoints.models, api.models, async ({ raw }) =>
    use.listModels.list(gate.modelSurface(raw), listForm(raw)),
  )
  bind(modelEndpoints.model, modelApi.model, async ({ raw, params }) =>
    use.listModels.one(gate.modelSurface(raw), params['id'] ?? '', listForm(raw)),
  )
  bind(endpoints.chatCompletions, { ...api.chatCompletions, ...bounds }, answerBy(use.complete))
  bind(modelEndpoints.messages, { ...modelApi.messages, ...bounds }, answerBy(use.messages))
  bind(modelEndpoints.embeddings, { ...modelApi.embeddings, ...bounds }, answerBy(use.embeddings))
  bind(modelEndpoints.countTokens, { ...modelApi.countTokens, ...bounds }, async ({ raw, reply }) => {
    const caller = gate.modelSurface(raw)
    const { body } = await use.countTokens(caller, callOf(gate, raw, reply))
    void reply.type('application/json').send(body)
    return alreadySent
  })
}

function callOf(gate: ModelRoutesDeps['gate'], raw: FastifyRequest, reply: FastifyReply): ModelCall {
  return {
    body: Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0),
    signal: clientGone(reply),
    betas: namesIn(raw.headers['anthropic-beta']),
    asksAgain: raw.headers[headers.asksAgain] === '1',
    hold: (bytes) => gate.hold(raw, bytes),
    keep: () => gate.keep(raw),
  }
}

function namesIn(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return []
  const text = Array.isArray(header) ? header.join(',') : header
  return text.split(',').map((name) => name.trim())
}

function listForm(request: FastifyRequest): ListForm {
  return isAnthropicCall(request) ? 'anthropic' : 'openai'
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
