import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Log } from '@flotilla/foundation/platform'
import { withoutDeferredTools } from '../formats/deferred-tools.ts'
import { badRequest, printedBody } from '../formats/json-body.ts'
import type { LlmProvider, ProviderOptions, ProviderReply, ProviderRequest } from '../llm-provider.ts'
import { isEchoed } from '../refusals/echoed-text.ts'
import { withoutMember } from '../refusals/optional-members.ts'
import { readRefusal } from '../refusals/read-refusal.ts'
import { hasOnlyResponses, isReasoningModel, missingInResponses } from './openai-models.ts'
import { readRefusalText } from './read-reply-text.ts'

interface OpenAiConfig {
  /** Sends calls by OpenAI's own forms, without a translation. */
  readonly direct: LlmProvider
  /** Sends chat completions by the Responses API, by translation. */
  readonly byResponses: LlmProvider
  readonly clock: Pick<Clock, 'now'>
  readonly log?: Pick<Log, 'warn'> | undefined
}

/** The time for which a refused API is remembered, milliseconds; a key or a model may get it later. */
const rememberedMs = 3_600_000
/** The most models whose refusals are remembered; the oldest is forgotten first. */
const modelsMax = 200
/** The bytes of a refusal that are read. */
const refusalMaxBytes = 16 * 1024

type Way = 'chat' | 'responses'

/** Words of OpenAI that send a call to its other API. */
const otherWay: Readonly<Record<Way, RegExp>> = {
  chat: /only supported in v1\/responses|not (?:a chat model|supported) .{0,80}v1\/chat\/completions|use \/?v1\/responses/i,
  responses:
    /missing scopes?:.{0,80}api\.responses|not supported (?:with|in) the (?:v1\/)?responses|encrypted content is not supported/i,
}

/**
 * OpenAI itself. A chat completion goes by the Responses API if the model has no other, and, for a call that the mesh
 * wrote, if a reasoning model gets tools: only there its thinking is kept between calls, and only there is a tool search.
 * A call with a member that the Responses API lacks stays a chat completion. If OpenAI refuses the one API for a model,
 * the call is sent by the other, and so are the next.
 */
export function createOpenAiProvider({ direct, byResponses, clock, log }: OpenAiConfig): LlmProvider {
  const refused = new Map<string, { readonly way: Way; readonly until: number }>()

  function wayOf(request: ProviderRequest): Way {
    const { model } = request
    if (!isForResponses(request)) return 'chat'
    const missing = missingInResponses(printedBody(request))
    if (missing === null) return 'responses'
    if (!hasOnlyResponses(model)) return 'chat'
    throw badRequest(`${missing}: ${model} has only OpenAI's Responses API, which does not take it`)
  }

  function isForResponses({ model, mayFit, parameters: { tools } }: ProviderRequest): boolean {
    if (hasOnlyResponses(model)) return true
    const known = refused.get(model)
    if (known !== undefined && known.until > clock.now()) return known.way === 'chat'
    return mayFit === true && Array.isArray(tools) && tools.length > 0 && isReasoningModel(model)
  }

  function send(way: Way, request: ProviderRequest, options: ProviderOptions): Promise<ProviderReply> {
    return way === 'responses'
      ? byResponses.complete(request, options)
      : direct.complete(plainChat(request), options)
  }

  function remember(model: string, way: Way): void {
    refused.delete(model)
    refused.set(model, { way, until: clock.now() + rememberedMs })
    const [oldest] = refused.keys()
    if (refused.size > modelsMax && oldest !== undefined) refused.delete(oldest)
  }

  return {
    ...direct,
    async complete(request, options) {
      if (request.form !== 'chat') return await direct.complete(request, options)
      const way = wayOf(request)
      const reply = await send(way, request, options)
      if (reply.status < 400 || reply.status >= 500 || reply.status === 429) return reply
      const refusal = await readRefusalText(reply, refusalMaxBytes)
      const other = otherFor(request, way, { refusal, status: reply.status })
      if (other === null) return { ...reply, body: onePiece(refusal), discard: () => {} }
      log?.warn(
        { model: request.model, by: other },
        'OpenAI does not serve the model by this API; using the other',
      )
      const second = await send(other, request, options)
      if (second.status === 200) remember(request.model, way)
      return second
    },
    async close() {
      await Promise.all([direct.close(), byResponses.close()])
    },
  }
}

/** Returns the API to which a refusal sends a call; null if it does not, or if the other API cannot carry the call. */
function otherFor(
  request: ProviderRequest,
  way: Way,
  { refusal, status }: { readonly refusal: string; readonly status: number },
): Way | null {
  const { message } = readRefusal(refusal, { status, provider: '', host: '' })
  const words = otherWay[way].exec(message)?.[0]
  // A refusal may quote the caller.
  if (words === undefined || isEchoed(request.parameters, words)) return null
  if (way === 'responses') return hasOnlyResponses(request.model) ? null : 'chat'
  return missingInResponses(printedBody(request)) === null ? 'responses' : null
}

/** Removes what chat completions do not know: found tools, and thinking that came by the other API. */
function plainChat(request: ProviderRequest): ProviderRequest {
  const { parameters, mayFit } = request
  // Programs write for their model themselves.
  if (mayFit !== true) return request
  const plain = (whole: JsonObject) => withoutMember(withoutDeferredTools(whole), 'reasoning_details')
  if (plain(parameters) === parameters) return request
  const body = plain(printedBody(request))
  return { ...request, parameters: plain(parameters), body: JSON.stringify(body) }
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
