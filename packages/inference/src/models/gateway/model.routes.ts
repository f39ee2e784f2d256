import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import { modelApi, modelEndpoints } from '@flotilla/protocol/model-api'
import { alreadySent, takeBodies } from '@flotilla/identity/http'
import type { ModelSurface } from '@flotilla/identity/http'
import type { ByteStream } from '../wire/byte-stream.ts'
import type { NamedByPath } from '../formats/api-format.ts'
import { methodOfPath, requireEvents } from '../formats/contents/contents-parameters.ts'
import { callOf } from './admitted-call.ts'
import type { AdmittedCall } from './admitted-call.ts'
import type { Complete } from './complete.ts'
import type { CountTokens } from './count-tokens.ts'
import type { ListModels, ModelListForm } from './list-models.ts'
import { isAnthropicCall, isGoogleCall, refuseInClientFormat } from './model-errors.ts'
import { notOffered, refuseOtherSurfaces } from './offered-surfaces.ts'

/** The header that the gateway's hook would add, which a hijacked reply bypasses. */
const bypassed = { 'x-content-type-options': 'nosniff' }

interface ModelUseCases extends Readonly<
  Record<'complete' | 'messages' | 'responses' | 'contents' | 'embeddings', Complete> &
    Record<'countTokens' | 'countContents', CountTokens>
> {
  readonly listModels: ListModels
}

/** The routes of the model API, for the clients of OpenAI, Anthropic and Google in containers. */
export function modelRoutes({ scope, bind, gate }: ModelSurface, use: ModelUseCases): void {
  const bounds = {
    bodyMaxBytes: wireLimits.modelBodyMaxBytes,
    needs: () => ({ do: 'call-api', api: 'llm' }) as const,
  }
  takeBodies(scope, gate)
  refuseInClientFormat(scope)
  refuseOtherSurfaces(scope)

  function answerBy(call: Complete) {
    return async (request: AdmittedCall, named?: NamedByPath) => {
      const { reply } = request
      const answer = await call(request.caller, callOf(gate, request, named))
      // After `hijack`, the bytes of the reply bypass the framework and its hooks.
      reply.hijack()
      if (answer.body instanceof Uint8Array) {
        const length = { 'content-length': answer.body.length, 'cache-control': 'no-store' }
        reply.raw.writeHead(answer.status, { ...bypassed, ...length, ...answer.headers })
        endAtOnce(reply.raw, answer.body)
      } else {
        reply.raw.writeHead(answer.status, { ...bypassed, ...answer.headers })
        push(answer.body, reply.raw)
      }
      return alreadySent
    }
  }

  bind(endpoints.models, api.models, ({ caller, raw }) => use.listModels.list(caller, listForm(raw)))
  bind(modelEndpoints.model, modelApi.model, ({ caller, raw, params }) =>
    use.listModels.one(caller, params.id, listForm(raw)),
  )
  bind(endpoints.chatCompletions, { ...api.chatCompletions, ...bounds }, answerBy(use.complete))
  bind(modelEndpoints.messages, { ...modelApi.messages, ...bounds }, answerBy(use.messages))
  bind(modelEndpoints.responses, { ...modelApi.responses, ...bounds }, answerBy(use.responses))
  bind(modelEndpoints.embeddings, { ...modelApi.embeddings, ...bounds }, answerBy(use.embeddings))
  function countBy(count: CountTokens) {
    return async (request: AdmittedCall, named?: NamedByPath) => {
      const { body } = await count(request.caller, callOf(gate, request, named))
      void request.reply.type('application/json').send(body)
      return alreadySent
    }
  }
  bind(modelEndpoints.countTokens, { ...modelApi.countTokens, ...bounds }, (request) =>
    countBy(use.countTokens)(request),
  )
  const [answer, count] = [answerBy(use.contents), countBy(use.countContents)]
  async function contents(request: AdmittedCall & { readonly params: { readonly call: string } }) {
    const named = methodOfPath(request.params.call)
    if (named === null) throw notOffered(request.raw)
    const { model, method } = named
    if (method === 'countTokens') return count(request, { model, stream: false })
    const stream = method === 'streamGenerateContent'
    if (stream) requireEvents(request.raw.query)
    return answer(request, { model, stream })
  }
  bind(modelEndpoints.contents, { ...modelApi.contents, ...bounds }, contents)
  bind(modelEndpoints.contentsV1, { ...modelApi.contentsV1, ...bounds }, contents)
}

function listForm(request: FastifyRequest): ModelListForm {
  if (isGoogleCall(request)) throw notOffered(request)
  return isAnthropicCall(request) ? 'anthropic' : 'openai'
}

/** The largest body that is copied to be sent in one write, bytes. */
const oneWriteMaxBytes = 64 * 1024

/** Sends head and body in one write: Node joins them only if both are strings, else it makes two writes. */
function endAtOnce(response: ServerResponse, body: Uint8Array): void {
  if (body.length > oneWriteMaxBytes) response.end(body)
  else response.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1'), 'latin1')
}

/** Sends a stream: pauses the source while the client is slow, and cuts it off when the client disconnects. */
function push(body: ByteStream, response: ServerResponse): void {
  const flow = body.pipe({
    write: (bytes) => response.write(bytes),
    end: () => response.end(),
    fail: () => response.destroy(),
  })
  response.on('drain', () => flow.resume())
  response.once('close', () => flow.cut())
}
