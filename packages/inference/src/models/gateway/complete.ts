import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { allowedModel, fallbackChain } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { streamedAnswer, wholeAnswer } from './answer-reply.ts'
import type { Answer, CompletionReply, Received } from './answer-reply.ts'
import type { ApiFormat, CallParameters, NamedByPath } from '../formats/api-format.ts'
import { isFromAgentProcess, openCall } from './open-call.ts'
import type { AgentCaller, Opened } from './open-call.ts'
import { chooseModel, nextStep } from './failover.ts'
import type { Candidate, Choice, Failure } from './failover.ts'
import { purposeOf, withAnswerSettings, withChosenModel } from './run-choice.ts'
import { standInChain } from './stand-in.ts'
import type { StandIn } from './stand-in.ts'
import { awaitFirstToken } from './await-first-token.ts'
import type { CallPurpose, ProviderReply } from '../llm-provider.ts'
import { asProblem } from '../formats/openai-error.ts'
import { createPriceList } from '../catalog/model-prices.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { Price, PricedModel } from '../catalog/model-prices.ts'
import { fittedCall, readFor, rewriterFor } from './read-for.ts'
import type { ReadForDeps } from './read-for.ts'
import { withRemoteMedia } from './remote-media.ts'
import type { FetchMedia } from './remote-media.ts'
import { wholeReply } from './reply-body.ts'
import type { Hold } from './reply-body.ts'
import type { ClientConnection, ReadOn } from './read-on.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import { createKeepAlive } from './keep-alive.ts'
import type { KeepAlive } from './keep-alive.ts'
import { createReportWaits } from './report-waits.ts'
import type { CallWaits, ReportWaits } from './report-waits.ts'
import { sendOnce } from './send-once.ts'
import type { Outcome } from './send-once.ts'
import { rememberedRefusal, whyNoAnswer } from './why-no-answer.ts'
import type { ModelWatch } from './watch-models.ts'

/**
 * Makes one model call for an agent, in any format of the model API. The rules are the same for all formats. The call
 * reads from top to bottom: authorize, resolve, and for each model of its chain reserve, send and receive; then relay.
 * Whatever ends an attempt settles its reservation.
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
  /** What the path names, in a form whose body does not. */
  readonly named?: NamedByPath
  /** Whether the client retries an answer that was cut off by a bound that the client did not choose. */
  readonly asksAgain?: boolean
  /** The purpose of the call in its run, as the caller states it; if omitted, it is part of the conversation. */
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
      const call = await resolve(parts, caller, input)
      return await relay(parts, call, answerOf(parts, call))
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

/** One allowed call: whom it is for, what it asks, and the models that may answer. */
interface ModelCall {
  readonly caller: AgentCaller
  readonly agentId: string
  readonly purpose: CallPurpose
  readonly input: CompletionInput
  readonly parameters: CallParameters
  /** The requested model and its fallbacks, in order; never empty. */
  readonly chain: readonly CatalogModel[]
  /** Once the client has disconnected, the current attempt is read to its end and no other begins. */
  readonly client: ClientConnection
  /** Notifies the caller why it has to wait. */
  readonly waits: CallWaits
  /** Stops extending the lease of the run. */
  readonly releaseLease: () => void
  /** Allows the connection to close. */
  readonly ended: () => void
}

/** Reads the body, finds the models that may answer it, and fetches its remote media. */
async function resolve(parts: Parts, caller: AgentCaller, input: CompletionInput): Promise<ModelCall> {
  const { agentId } = caller
  const read = readBounded(parts.apiFormat, input)
  const purpose = purposeOf(input.purpose ?? 'loop', read)
  const playing = standInChain(parts, caller, { read, purpose })
  const own = () => fallbackChain(parts, agentId, allowedModel(parts, agentId, read.model))
  const chain =
    (playing && (await playing)) ??
    withChosenModel(parts, { caller, purpose }, { chain: own(), bodyBytes: input.body.length })
  const parameters =
    read.prompt.remote.length === 0 ? read : await withRemoteMedia(parts, read, { caller, ...input })
  const releaseLease = parts.holdLease(caller.run)
  const ended = input.keep?.() ?? (() => {})
  const client = parts.readOn.begin(agentId)
  const leave = () => client.clientLeft(input.signal.reason)
  if (input.signal.aborted) leave()
  else input.signal.addEventListener('abort', leave, { once: true })
  const waits = parts.waits.begin({ agentId, runId: caller.run?.runId ?? null, left: client.left })
  return { caller, agentId, purpose, input, parameters, chain, client, waits, releaseLease, ended }
}

function readBounded(apiFormat: ApiFormat, { body, betas, named }: CompletionInput): CallParameters {
  if (body.length > wireLimits.modelBodyMaxBytes) {
    throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
  }
  return apiFormat.read(body, betas ?? [], named)
}

/** The state of one call along its chain. */
interface Walk {
  readonly beganAt: number
  /** The number of attempts at all models together. */
  attempts: number
  readonly untried: Set<number>
  /** The last failure; null before the first. */
  failure: Failure | null
  /** Why the last fallback could not be called. */
  refusal: Problem | null
}

/**
 * Gets one answer, from the requested model or from a fallback.
 *
 * 1. Retries the same model first if that may help, then the next. A refusal of key, account or model leads to
 *    the next at once; an error of the call itself ends it. A model whose key or account is refused is not called.
 * 2. Each attempt that may be billed is settled by itself, and the next gets a new reservation. An attempt that was
 *    not billed keeps its reservation for the next. No attempt is sent without one.
 * 3. Every account that was opened is closed when this rejects.
 *
 * Rejects with the Problem of the last attempt, which contains `attempts`, or with the abort reason of the client.
 */
async function answerOf(parts: Parts, call: ModelCall): Promise<Answer> {
  const { chain } = call
  const beganAt = parts.clock.now()
  const walk: Walk = { beganAt, attempts: 0, untried: new Set(chain.keys()), failure: null, refusal: null }
  try {
    let choice = chooseModel(candidates(parts, call, walk))
    while (choice) {
      const model = chain[choice.index]
      if (!model) break
      walk.untried.delete(choice.index)
      const tried = await tryModel(parts, call, { model, walk, isLastResort: choice.isLastResort })
      if ('answer' in tried) return tried
      choice = tried.next
      if (choice) {
        const next = chain[choice.index]?.id
        parts.log.warn(
          { model: model.id, next, attempts: walk.attempts },
          'a model did not answer; trying the next fallback',
        )
      }
    }
    throw whyNoAnswer(walk, rememberedRefusal(parts.watch, call))
  } catch (error) {
    if (isFromAgentProcess(parts, call.caller)) parts.windows.refused(call.agentId, error)
    throw error
  } finally {
    call.releaseLease()
    call.ended()
  }
}

function candidates({ watch }: Parts, { chain, agentId }: ModelCall, walk: Walk): Candidate[] {
  return [...walk.untried].flatMap((index) => {
    const model = chain[index]
    if (!model) return []
    const coolDownLeftMs = watch.coolDownLeftMs(model, agentId)
    return [{ index, coolDownLeftMs, isShut: watch.refusalOf(model) !== null }]
  })
}

/** Makes all attempts at one model; resolves to the answer, or to the model to try next, null if none remains. */
async function tryModel(
  parts: Parts,
  call: ModelCall,
  { model, walk, isLastResort }: { model: CatalogModel; walk: Walk; isLastResort: boolean },
): Promise<Answer | { readonly next: Choice | null }> {
  const { clock, watch } = parts
  const { client, agentId, waits } = call
  /** A reserved call that has not been billed. */
  let held: Opened | null = null
  try {
    for (let retries = 0; ; retries++) {
      held ??= await reserve(parts, call, { model, walk })
      client.left.throwIfAborted()
      if (held === null) return { next: chooseModel(candidates(parts, call, walk)) }
      const opened: Opened = held
      const askedAt = clock.now()
      walk.attempts++
      const outcome: Outcome<Received> = await sendOnce(opened, waits, (reply) =>
        receive(parts, readFor(parts, call.caller, { reply, opened }), opened),
      )
      if ('answer' in outcome) {
        held = null
        watch.answered(model, { agentId, at: askedAt })
        return { answer: outcome.answer, model, attempts: walk.attempts, askedAt }
      }
      const { failure } = outcome
      walk.failure = failure
      if (failure.mayBeBilled) held = null
      client.left.throwIfAborted()
      const elapsedMs = clock.now() - walk.beganAt
      const others = candidates(parts, call, walk)
      const step = nextStep({ failure, retries, isLastResort, elapsedMs, others, chance: parts.chance() })
      if (step.do !== 'retry') {
        watch.failed(model, failure, { agentId, at: askedAt })
        return { next: step.do === 'switch' ? step : null }
      }
      parts.log.warn(
        { model: model.id, code: failure.problem.code, attempts: walk.attempts },
        'a model did not answer; retrying',
      )
      waits.retrying(model, failure, { waitMs: step.waitMs, elapsedMs })
      await clock.sleep(step.waitMs, client.left)
    }
  } finally {
    held?.account.refund()
  }
}

/**
 * Reserves the highest cost of one attempt; null for a fallback that cannot be used, for example because of the
 * budget. Throws the error of the requested model if no attempt has failed before.
 */
async function reserve(
  parts: Parts,
  { caller, input, parameters, chain, client, purpose }: ModelCall,
  { model, walk }: { readonly model: CatalogModel; readonly walk: Walk },
): Promise<Opened | null> {
  try {
    const set = withAnswerSettings(parts, { caller, purpose, model }, parameters)
    const asked = { parameters: set, client, input, asksAgain: input.asksAgain === true, purpose, model }
    return await openCall(parts, caller, fittedCall(parts, caller, asked))
  } catch (error) {
    const isWanted = model === chain[0]
    if (!(error instanceof Problem) || (isWanted && walk.failure === null)) throw error
    walk.refusal = error
    return null
  }
}

/** Reads a reply to its end, or a stream to its first words, and settles what it cost. */
async function receive(parts: Parts, reply: ProviderReply, opened: Opened): Promise<Received> {
  const form = { ...parts, rewrite: rewriterFor(parts, opened), secrets: opened.model.secrets }
  const isStream = opened.request.stream && reply.contentType.includes('event-stream')
  if (!isStream) return { whole: await wholeReply(reply, opened, form) }
  return { reply: await awaitFirstToken(reply, { ...opened, ...form }), call: opened }
}

/** Relays the answer to the client. If the client leaves before a stream has begun, the answer is still read. */
function relay(parts: Parts, call: ModelCall, answered: Promise<Answer>): Promise<CompletionReply> {
  const { agentId, client, waits, releaseLease } = call
  const { keepAlive, watch, apiFormat } = parts
  const { stream, wantsUsage } = call.parameters
  const replied = stream
    ? streamedAnswer({ agentId, keepAlive, watch, apiFormat, wantsUsage, answered, client, waits })
    : answered.then(wholeAnswer)
  // A client that has disconnected must not extend the lease of the run by an answer that it never reads.
  return new Promise((done, reject) => {
    const left = () => {
      releaseLease()
      reject(client.left.reason)
    }
    if (client.left.aborted) left()
    else client.left.addEventListener('abort', left, { once: true })
    replied.then(done, reject)
  })
}
