import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { allowedModel, fallbackChain } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { streamedAnswer, wholeAnswer } from './answer-reply.ts'
import type { CompletionReply, Received } from './answer-reply.ts'
import type { CallParameters, ApiFormat } from '../formats/api-format.ts'
import { dispatch } from './dispatch.ts'
import { isFromAgentProcess, openCall } from './open-call.ts'
import type { AgentCaller, Opened } from './open-call.ts'
import { withAnswerSettings, withChosenModel } from './run-choice.ts'
import { standInChain } from './stand-in.ts'
import type { StandIn } from './stand-in.ts'
import { awaitFirstToken } from './await-first-token.ts'
import type { CallPurpose, ProviderReply } from '../llm-provider.ts'
import { asProblem } from '../formats/openai-error.ts'
import { createPriceList } from '../catalog/price-list.ts'
import type { Price, PricedModel } from '../catalog/price-list.ts'
import { fittedCall, readFor, rewriterFor } from './read-for.ts'
import type { ReadForDeps } from './read-for.ts'
import { withRemoteMedia } from './remote-media.ts'
import type { FetchMedia } from './remote-media.ts'
import { wholeReply } from './reply-body.ts'
import type { Hold } from './reply-body.ts'
import type { ReadOn } from './read-on.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import { createKeepAlive } from './keep-alive.ts'
import type { KeepAlive } from './keep-alive.ts'
import { createReportWaits } from './report-waits.ts'
import type { ReportWaits } from './report-waits.ts'
import type { ModelWatch } from './watch-models.ts'

/**
 * Makes one model call for an agent, in any format of the model API. The rules are the same for all formats.
 *
 * 1. Nothing is sent before guard, model list and budget allow the call. The gateway has counted it already.
 * 2. Every reservation is settled or refunded, on every path, also when the client has disconnected.
 * 3. When `signal` aborts (the client has left), the call rejects at once, no attempt follows, and an answer that is
 *    paid for is read on for its usage (`read-on.ts`).
 */
export type Complete = (caller: Caller, input: CompletionInput) => Promise<CompletionReply>

export interface CompletionInput {
  /** The body as received. */
  readonly body: Uint8Array
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  /** Counts the bytes of a whole answer, which are kept until the call is over. */
  readonly hold?: Hold
  /** Keeps the call open, even without its client, until the returned function is called. */
  readonly keep?: () => () => void
  /** Beta features, by the names that the client sent. */
  readonly betas?: readonly string[]
  /** Whether the client retries an answer that was cut off by a bound that the client did not choose. */
  readonly asksAgain?: boolean
  /** The purpose of the call in its run; if omitted, it is part of the conversation. */
  readonly purpose?: CallPurpose
}

export interface CompleteDeps extends AllowedModelsDeps, Omit<ReadForDeps, 'apiFormat' | 'priceOf'> {
  readonly guard: Guard
  readonly watch: ModelWatch
  readonly fetchMedia: FetchMedia
  readonly readOn: ReadOn
  readonly windows: StatedWindows
  /** Answers in place of the model in a replay; returns null for all other runs. */
  readonly standIn?: StandIn
  /** Returns 0 to 1; spreads the retries of clients after a failure. */
  readonly chance: () => number
  /** The silence after which a stream gets a keep-alive comment; the default is `wireLimits.keepAliveMs`. */
  readonly keepAliveMs?: number
  /** How long a call waits for a provider before the caller is notified; the default is a second. */
  readonly shownAfterMs?: number
  /** Ends the waits between calls. */
  readonly stopped?: AbortSignal
}

/**
 * Throws Problems with the error body of this format: `denied`, `body-too-large`, `bad-json`, `bad-request`,
 * `model-not-allowed`, `model-unpriced`, `not-configured`, `budget-exhausted`, and the provider's failures. A stream
 * that has begun ends with an error event instead.
 */
export function createComplete(deps: CompleteDeps, apiFormat: ApiFormat): Complete {
  const keepAlive = createKeepAlive({ ...deps, intervalMs: deps.keepAliveMs ?? wireLimits.keepAliveMs })
  const waits = createReportWaits(deps)
  const parts: Parts = { ...deps, apiFormat, keepAlive, waits, priceOf: createPriceList(deps.clock) }
  return async (caller, input) => {
    try {
      deps.guard(caller, { do: 'call-api', api: 'llm' })
      if (caller.kind !== 'agent') throw new Problem('denied')
      return await answer(parts, caller, input)
    } catch (error) {
      if (input.signal.aborted) throw error
      if (!(error instanceof Problem))
        deps.log.error({ err: error }, 'internal error in a model call; the caller receives internal-error')
      throw apiFormat.withErrorBody(asProblem(error))
    }
  }
}

interface Parts extends CompleteDeps {
  readonly apiFormat: ApiFormat
  readonly keepAlive: KeepAlive
  readonly waits: ReportWaits
  readonly priceOf: (model: PricedModel) => Price
}

async function answer(deps: Parts, caller: AgentCaller, input: CompletionInput): Promise<CompletionReply> {
  const { apiFormat, keepAlive, watch } = deps
  const purpose = input.purpose ?? 'loop'
  const read = readBounded(apiFormat, input)
  const playing = standInChain(deps, caller, { read, purpose })
  const own = () => fallbackChain(deps, caller.agentId, allowedModel(deps, caller.agentId, read.model))
  const chosen = { caller, purpose }
  const chain =
    (playing && (await playing)) ??
    withChosenModel(deps, chosen, { chain: own(), bodyBytes: input.body.length })
  const parameters =
    read.prompt.remote.length === 0 ? read : await withRemoteMedia(deps, read, { caller, ...input })
  const release = deps.holdLease(caller.run)
  const ended = input.keep?.()
  const client = deps.readOn.begin(caller.agentId)
  const leave = () => client.clientLeft(input.signal.reason)
  if (input.signal.aborted) leave()
  else input.signal.addEventListener('abort', leave, { once: true })
  const runId = caller.run?.runId ?? null
  const waits = deps.waits.begin({ agentId: caller.agentId, runId, left: client.left })
  const request = { parameters, client, input, asksAgain: input.asksAgain === true, purpose }

  async function dispatched() {
    try {
      return await dispatch(deps, {
        agentId: caller.agentId,
        chain,
        client,
        waits,
        open: (model) => {
          const set = withAnswerSettings(deps, { ...chosen, model }, parameters)
          return openCall(deps, caller, fittedCall(deps, caller, { ...request, parameters: set, model }))
        },
        receive: (reply, opened) => receive(deps, readFor(deps, caller, { reply, opened }), opened),
      })
    } catch (error) {
      if (isFromAgentProcess(deps, caller)) deps.windows.refused(caller.agentId, error)
      throw error
    } finally {
      release()
      ended?.()
    }
  }

  // If the client leaves before a stream has begun, the stream still reads the answer to its end.
  const { stream, wantsUsage } = parameters
  const streaming = { keepAlive, watch, apiFormat, wantsUsage, agentId: caller.agentId }
  const answered = stream
    ? streamedAnswer({ ...streaming, dispatched: dispatched(), client, waits })
    : dispatched().then(wholeAnswer)
  // A client that has disconnected must not extend the lease of the run by an answer that it never reads.
  return await new Promise((resolve, reject) => {
    const left = () => {
      release()
      reject(client.left.reason)
    }
    if (client.left.aborted) left()
    else client.left.addEventListener('abort', left, { once: true })
    answered.then(resolve, reject)
  })
}

async function receive(deps: Parts, reply: ProviderReply, opened: Opened): Promise<Received> {
  const form = { ...deps, rewrite: rewriterFor(deps, opened), secrets: opened.model.secrets }
  const isStream = opened.request.stream && reply.contentType.includes('event-stream')
  if (!isStream) return { whole: await wholeReply(reply, opened, form) }
  return { reply: await awaitFirstToken(reply, { ...opened, ...form }), call: opened }
}

function readBounded(apiFormat: ApiFormat, { body, betas }: CompletionInput): CallParameters {
  if (body.length > wireLimits.modelBodyMaxBytes) {
    throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
  }
  return apiFormat.read(body, betas ?? [])
}
