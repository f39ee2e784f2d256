import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '../events/event-bus.ts'
import type { Log } from '../log.ts'
import type { Guard } from '../policy/action.ts'
import type { CallRate } from '../policy/call-rate.ts'
import type { Caller } from '../policy/caller.ts'
import { allowedModel } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import type { ByteStream } from './byte-stream.ts'
import { openCallAccount } from './call-account.ts'
import { dispatch } from './dispatch.ts'
import { promptTokensAtMost } from './estimate.ts'
import type { HoldLease } from './hold-lease.ts'
import type { ProviderReply, ProviderRequest } from './llm-provider.ts'
import type { CatalogModel } from './model-catalog.ts'
import { usdFromNano } from './money.ts'
import { asProblem, withOpenAiError } from './openai-error.ts'
import { readParameters } from './parameters.ts'
import type { ChatParameters } from './parameters.ts'
import { createPriceList } from './price-list.ts'
import type { Price, PricedModel } from './price-list.ts'
import { relayStream } from './relay-stream.ts'
import { wholeReply } from './reply-body.ts'
import type { OpenCall } from './reply-body.ts'
import type { Reservation, SpendGate } from './reserve-settle.ts'
import { createSilenceWatch } from './silence-watch.ts'
import type { SilenceWatch } from './silence-watch.ts'

/**
 * One chat completion for an agent.
 *
 * 1. Nothing leaves before the guard, the rate, the list of models and the budget have said yes.
 * 2. Every reservation is settled or refunded, on every path, also when nobody reads the answer.
 * 3. When `signal` aborts (the client has gone), the provider is cut off at once.
 */
export type Complete = (caller: Caller, input: CompletionInput) => Promise<CompletionReply>

export interface CompletionInput {
  /** The body as it came. */
  readonly body: Uint8Array
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
}

/** To be copied to the client as it is. */
export interface CompletionReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream is read to its end or given up by the signal. */
  readonly body: Uint8Array | ByteStream
}

export interface CompleteDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly rate: CallRate
  readonly gate: SpendGate
  readonly events: Pick<EventBus, 'publish'>
  readonly holdLease: HoldLease
  readonly clock: Clock
  readonly log: Log
  /** Ends what waits between calls. */
  readonly stopped?: AbortSignal
}

/**
 * Throws Problems, each with an `error` field that OpenAI's clients understand: `denied`, `rate-limited`,
 * `body-too-large`, `bad-json`, `bad-request`, `model-not-allowed`, `model-unpriced`, `not-configured`,
 * `budget-exhausted`, and what the provider met. A stream that has begun ends with an error event instead.
 */
export function createComplete(deps: CompleteDeps): Complete {
  const silence = createSilenceWatch({ ...deps, intervalMs: wireLimits.keepAliveMs })
  const parts: Parts = { ...deps, silence, priceOf: createPriceList(deps.clock) }
  return async (caller, input) => {
    try {
      deps.guard(caller, { do: 'call-api', api: 'llm' })
      if (caller.kind !== 'agent') throw new Problem('denied')
      deps.rate.take(caller.agentId)
      return await answer(parts, caller, input)
    } catch (error) {
      if (input.signal.aborted) throw error
      if (!(error instanceof Problem)) deps.log.error({ err: error }, 'model call failed inside')
      throw withOpenAiError(asProblem(error))
    }
  }
}

interface Parts extends CompleteDeps {
  readonly silence: SilenceWatch
  readonly priceOf: (model: PricedModel) => Price
}

async function answer(
  deps: Parts,
  caller: Extract<Caller, { kind: 'agent' }>,
  input: CompletionInput,
): Promise<CompletionReply> {
  const parameters = readBounded(input.body)
  const model = deps.catalog.find(allowedModel(deps, caller.agentId, parameters.model))
  const price = deps.priceOf(model)
  const draft = JSON.stringify({ model: model.model, ...parameters.forwarded })
  const draftBytes = Buffer.byteLength(draft)
  const promptTokens = promptTokensAtMost(parameters.forwarded, draftBytes)
  const reservation = await deps.gate.reserve({
    agentId: caller.agentId,
    run: caller.run,
    model: model.id,
    promptTokens,
    promptNano: Math.ceil(promptTokens * price.inputNanoPerToken),
    outputNanoPerToken: price.outputNanoPerToken,
    answers: parameters.answers,
    maxTokens: parameters.maxTokens?.value ?? model.defaultMaxTokens,
  })
  const release = deps.holdLease(caller.run)
  const account = openCallAccount(deps, {
    agentId: caller.agentId,
    runId: caller.run?.runId ?? null,
    model: model.id,
    price,
    reservation,
    promptTokens,
    closed: release,
  })
  const request = requestFor(caller.agentId, model, { parameters, draft, draftBytes, reservation })
  const call: OpenCall = { account, costUsdOf: (usage) => usdFromNano(price.costNano(usage)) }
  return await send(deps, call, { model, request, parameters, clientSignal: input.signal })
}

async function send(
  deps: Parts,
  call: OpenCall,
  sending: {
    model: CatalogModel
    request: ProviderRequest
    parameters: ChatParameters
    clientSignal: AbortSignal
  },
): Promise<CompletionReply> {
  const { model, request, parameters, clientSignal } = sending
  // The reader of a stream may leave without the client's going; a whole answer has no such reader.
  const cutting = parameters.stream ? new AbortController() : null
  if (cutting)
    clientSignal.addEventListener('abort', () => cutting.abort(clientSignal.reason), { once: true })
  const signal = cutting?.signal ?? clientSignal
  const dispatched = dispatch(deps, model, { request, signal }).catch((error: unknown) => {
    // Cut off after it left, a call may have cost its prompt; refused or never sent, it has cost nothing.
    if (clientSignal.aborted || isSilence(error)) call.account.settleEstimate(null)
    else call.account.refund()
    throw error
  })
  dispatched.catch(() => {})
  if (!cutting) return await wholeReply(await dispatched, call)
  const first = await firstOf(dispatched, deps.silence)
  if (first !== null && !first.contentType.includes('event-stream')) return await wholeReply(first, call)
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
    body: relayStream({
      reply: dispatched,
      call,
      wantsUsage: parameters.wantsUsage,
      clientSignal,
      silence: deps.silence,
      cut: () => cutting.abort(readerLeft),
    }),
  }
}

/** Made once: an abort without a reason makes an error with its stack each time. */
const readerLeft = new Error('the reader of the stream has left')

/** The call went out and nothing ever came back, not even a status. */
function isSilence(error: unknown): boolean {
  return (
    error instanceof Problem &&
    error.code === 'upstream-timeout' &&
    error.extra['provider_status'] === undefined
  )
}

/** The reply, or null when it is so long in coming that the client should hear something meanwhile. */
function firstOf(dispatched: Promise<ProviderReply>, silence: SilenceWatch): Promise<ProviderReply | null> {
  return new Promise((resolve, reject) => {
    const watched = silence.watch(() => {
      watched.end()
      resolve(null)
    })
    dispatched.then(
      (reply) => {
        watched.end()
        resolve(reply)
      },
      (error: unknown) => {
        watched.end()
        reject(error)
      },
    )
  })
}

function readBounded(body: Uint8Array): ChatParameters {
  if (body.length > wireLimits.modelBodyMaxBytes) {
    throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
  }
  return readParameters(body)
}

/** The bound is added last: it is what the reservation allows, and free models get one only if the client set it. */
function requestFor(
  agentId: string,
  model: CatalogModel,
  call: { parameters: ChatParameters; draft: string; draftBytes: number; reservation: Reservation },
): ProviderRequest {
  const { parameters, draft, draftBytes, reservation } = call
  const field = parameters.maxTokens?.field ?? (model.free ? null : model.boundField)
  const end = field === null ? '}' : `,"${field}":${reservation.maxTokens}}`
  const body = Buffer.allocUnsafe(draftBytes - 1 + end.length)
  body.write(draft, 'utf8')
  body.write(end, draftBytes - 1, 'latin1')
  return {
    agentId,
    model: model.model,
    stream: parameters.stream,
    parameters: parameters.forwarded,
    body,
  }
}
