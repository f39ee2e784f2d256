import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '../../access/index.ts'
import { allowedModel, fallbackChain } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { streamedAnswer, wholeAnswer } from './answer-reply.ts'
import type { CompletionReply, Received } from './answer-reply.ts'
import type { CallParameters, ApiFormat } from '../formats/api-format.ts'
import { dispatch } from './dispatch.ts'
import { isFromAgentProcess, openCall } from './open-call.ts'
import type { AgentCaller, Opened } from './open-call.ts'
import { standInChain } from './stand-in.ts'
import type { StandIn } from './stand-in.ts'
import { awaitFirstToken } from './await-first-token.ts'
import type { CallPurpose, ProviderReply } from '../providers/llm-provider.ts'
import { asProblem } from '../formats/openai-error.ts'
import { createPriceList } from '../catalog/price-list.ts'
import type { Price, PricedModel } from '../catalog/price-list.ts'
import { fittedCall, readFor } from './read-for.ts'
import type { ReadForDeps } from './read-for.ts'
import { withRemoteMedia } from './remote-media.ts'
import type { FetchMedia } from './remote-media.ts'
import { wholeReply } from './reply-body.ts'
import type { Hold } from './reply-body.ts'
import type { ReadOn } from './read-on.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import { createKeepAlive } from './keep-alive.ts'
import type { KeepAlive } from './keep-alive.ts'
import { createTellWaits } from './tell-waits.ts'
import type { TellWaits } from './tell-waits.ts'
import type { ModelWatch } from './watch-models.ts'

/**
 * One call of a model for an agent, in any form of the model surface: the rules are the same for all of them.
 *
 * 1. Nothing leaves before the guard, the list of models and the budget have said yes; the gateway has counted the call.
 * 2. Every reservation is settled or refunded, on every path, also when the client has disconnected.
 * 3. When `signal` aborts (the client has gone), this rejects at once, nothing more is asked, and an answer that is
 *    paid for is read on for its usage (`read-on.ts`).
 */
export type Complete = (caller: Caller, input: CompletionInput) => Promise<CompletionReply>

export interface CompletionInput {
  /** The body as it came. */
  readonly body: Uint8Array
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  /** Counts bytes of an answer in one piece; they are kept until the call is over. */
  readonly hold?: Hold
  /** The call is not over, though its client has left, until what this returns is called. */
  readonly keep?: () => () => void
  /** Features that are still tried out, by the names a client gives them. */
  readonly betas?: readonly string[]
  /** The client asks again where a bound that it did not choose cut the answer off. */
  readonly asksAgain?: boolean
  /** What the call is to the run whose agent thinks by it; left out, a part of its conversation. */
  readonly purpose?: CallPurpose
}

export interface CompleteDeps extends AllowedModelsDeps, Omit<ReadForDeps, 'apiFormat' | 'priceOf'> {
  readonly guard: Guard
  readonly watch: ModelWatch
  readonly fetchMedia: FetchMedia
  readonly readOn: ReadOn
  readonly windows: StatedWindows
  /** Null for a run that thinks with the model of its agent. */
  readonly standIn?: StandIn
  /** From 0 to 1; spreads out those who come back after a failure. */
  readonly chance: () => number
  /** Silence after which a stream gets a comment; the default is the wire's. */
  readonly keepAliveMs?: number
  /** How long a call waits for a provider before the caller is notified; the default is a second. */
  readonly toldAfterMs?: number
  /** Ends what waits between calls. */
  readonly stopped?: AbortSignal
}

/**
 * Throws Problems, each with what clients of this form look for: `denied`,
 * `body-too-large`, `bad-json`, `bad-request`, `model-not-allowed`, `model-unpriced`, `not-configured`,
 * `budget-exhausted`, and what the provider met. A stream that has begun ends with an error event instead.
 */
export function createComplete(deps: CompleteDeps, apiFormat: ApiFormat): Complete {
  const keepAlive = createKeepAlive({ ...deps, intervalMs: deps.keepAliveMs ?? wireLimits.keepAliveMs })
  const waits = createTellWaits(deps)
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
  readonly waits: TellWaits
  readonly priceOf: (model: PricedModel) => Price
}

async function answer(deps: Parts, caller: AgentCaller, input: CompletionInput): Promise<CompletionReply> {
  const { apiFormat, keepAlive, watch } = deps
  const purpose = input.purpose ?? 'loop'
  const read = readBounded(apiFormat, input)
  const playing = standInChain(deps, caller, { read, purpose })
  const chain =
    (playing && (await playing)) ??
    fallbackChain(deps, caller.agentId, allowedModel(deps, caller.agentId, read.model))
  const parameters =
    read.prompt.remote.length === 0 ? read : await withRemoteMedia(deps, read, { caller, ...input })
  const release = deps.holdLease(caller.run)
  const ended = input.keep?.()
  const hearing = deps.readOn.begin(caller.agentId)
  const leave = () => hearing.readerLeft(input.signal.reason)
  if (input.signal.aborted) leave()
  else input.signal.addEventListener('abort', leave, { once: true })
  const runId = caller.run?.runId ?? null
  const waits = deps.waits.begin({ agentId: caller.agentId, runId, left: hearing.left })
  const asked = { parameters, hearing, input, asksAgain: input.asksAgain === true, purpose }

  async function dispatched() {
    try {
      return await dispatch(deps, {
        chain,
        hearing,
        waits,
        open: (model) => openCall(deps, caller, fittedCall(deps, caller, { ...asked, model })),
        receive: (reply, opened) => receive(apiFormat, readFor(deps, caller, { reply, opened }), opened),
      })
    } catch (error) {
      if (isFromAgentProcess(deps, caller)) deps.windows.refused(caller.agentId, error)
      throw error
    } finally {
      release()
      ended?.()
    }
  }

  // One that is left before it began is read on by the stream that it becomes.
  const { stream, wantsUsage } = parameters
  const answered = stream
    ? streamedAnswer({ keepAlive, watch, apiFormat, wantsUsage, dispatched: dispatched(), hearing, waits })
    : dispatched().then(wholeAnswer)
  // A client that has disconnected must not extend the lease of the run by an answer that it never reads.
  return await new Promise((resolve, reject) => {
    const left = () => {
      release()
      reject(hearing.left.reason)
    }
    if (hearing.left.aborted) left()
    else hearing.left.addEventListener('abort', left, { once: true })
    answered.then(resolve, reject)
  })
}

async function receive(apiFormat: ApiFormat, reply: ProviderReply, opened: Opened): Promise<Received> {
  const isStream = opened.request.stream && reply.contentType.includes('event-stream')
  if (!isStream) return { whole: await wholeReply(reply, opened, apiFormat) }
  const told = { ...opened, secrets: opened.model.secrets, apiFormat }
  return { reply: await awaitFirstToken(reply, told), call: opened }
}

function readBounded(apiFormat: ApiFormat, { body, betas }: CompletionInput): CallParameters {
  if (body.length > wireLimits.modelBodyMaxBytes) {
    throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
  }
  return apiFormat.read(body, betas ?? [])
}
