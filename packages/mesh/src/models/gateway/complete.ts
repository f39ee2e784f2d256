import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '../../events/event-bus.ts'
import type { Log } from '../../platform/log.ts'
import type { LoopShare } from '../../intake/loop-share.ts'
import type { Guard } from '../../access/action.ts'
import type { Caller } from '../../access/caller.ts'
import { allowedModel } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { streamedAnswer, wholeAnswer } from './answer-reply.ts'
import type { CompletionReply, Received } from './answer-reply.ts'
import type { AnswerBounds } from './answer-bounds.ts'
import { openCallAccount } from './call-account.ts'
import type { CallAccount } from './call-account.ts'
import type { CallParameters, Dialect } from './dialect.ts'
import { dispatch } from './dispatch.ts'
import { promptTokensAtMost } from './estimate.ts'
import { fallbackChain } from './fallback-chain.ts'
import { firstWords } from './first-words.ts'
import type { HoldLease } from '../../runs/hold-lease.ts'
import type { CallBounds, ProviderReply, ProviderRequest } from '../providers/llm-provider.ts'
import { requireBounded } from './media-bounds.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import { usdFromNano } from '../../spending/money.ts'
import { asProblem } from '../formats/openai-error.ts'
import { createPriceList } from '../catalog/price-list.ts'
import type { Price, PricedModel } from '../catalog/price-list.ts'
import { withRemoteMedia } from './remote-media.ts'
import type { FetchMedia } from './remote-media.ts'
import { wholeReply } from './reply-body.ts'
import type { Hold, OpenCall } from './reply-body.ts'
import type { Hearing, ReadOn } from './read-on.ts'
import type { Reservation, SpendGate } from '../../spending/reserve-settle.ts'
import { priceWithTools, serverToolTerms, tokensWithTools } from './server-tools.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import { createSilenceWatch } from './silence-watch.ts'
import type { SilenceWatch } from './silence-watch.ts'
import { createTellWaits } from './tell-waits.ts'
import type { TellWaits } from './tell-waits.ts'
import { billedUsage } from '../formats/usage.ts'
import type { TokenUsage } from '../formats/usage.ts'
import type { ModelWatch } from './watch-models.ts'

/**
 * One call of a model for an agent, in any form of the model surface: the rules are the same for all of them.
 *
 * 1. Nothing leaves before the guard, the list of models and the budget have said yes; the door has counted the call.
 * 2. Every reservation is settled or refunded, on every path, also when nobody reads the answer.
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
}

export interface CompleteDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly gate: SpendGate
  readonly events: Pick<EventBus, 'publish'>
  readonly holdLease: HoldLease
  readonly clock: Clock
  readonly log: Log
  readonly watch: ModelWatch
  readonly fetchMedia: FetchMedia
  readonly readOn: ReadOn
  readonly answerBounds: AnswerBounds
  readonly windows: StatedWindows
  /** From 0 to 1; spreads out those who come back after a failure. */
  readonly chance: () => number
  /** Silence after which a stream gets a comment; the default is the wire's. */
  readonly keepAliveMs?: number
  /** Of a wait for a provider, before whoever asked is told; the default is a second. */
  readonly toldAfterMs?: number
  /** Does what returns at once, on the agent's share of the loop. */
  readonly spend: LoopShare['spend']
  /** Ends what waits between calls. */
  readonly stopped?: AbortSignal
}

/**
 * Throws Problems, each with what clients of the dialect look for: `denied`,
 * `body-too-large`, `bad-json`, `bad-request`, `model-not-allowed`, `model-unpriced`, `not-configured`,
 * `budget-exhausted`, and what the provider met. A stream that has begun ends with an error event instead.
 */
export function createComplete(deps: CompleteDeps, dialect: Dialect): Complete {
  const silence = createSilenceWatch({ ...deps, intervalMs: deps.keepAliveMs ?? wireLimits.keepAliveMs })
  const waits = createTellWaits(deps)
  const parts: Parts = { ...deps, dialect, silence, waits, priceOf: createPriceList(deps.clock) }
  return async (caller, input) => {
    try {
      deps.guard(caller, { do: 'call-api', api: 'llm' })
      if (caller.kind !== 'agent') throw new Problem('denied')
      return await answer(parts, caller, input)
    } catch (error) {
      if (input.signal.aborted) throw error
      if (!(error instanceof Problem)) deps.log.error({ err: error }, 'model call failed inside')
      throw dialect.dress(asProblem(error))
    }
  }
}

interface Parts extends CompleteDeps {
  readonly dialect: Dialect
  readonly silence: SilenceWatch
  readonly waits: TellWaits
  readonly priceOf: (model: PricedModel) => Price
}

async function answer(
  deps: Parts,
  caller: Extract<Caller, { kind: 'agent' }>,
  input: CompletionInput,
): Promise<CompletionReply> {
  const { dialect } = deps
  const read = readBounded(dialect, input)
  const chain = fallbackChain(deps, caller.agentId, allowedModel(deps, caller.agentId, read.model))
  const parameters = await withRemoteMedia(deps, read, { caller, ...input })
  const release = deps.holdLease(caller.run)
  const ended = input.keep?.()
  const hearing = deps.readOn.begin(caller.agentId)
  // An agent that is gone holds no lease by an answer that it never reads.
  hearing.left.addEventListener('abort', release, { once: true })
  const leave = () => hearing.readerLeft(input.signal.reason)
  if (input.signal.aborted) leave()
  else input.signal.addEventListener('abort', leave, { once: true })
  const runId = caller.run?.runId ?? null
  const waits = deps.waits.begin({ agentId: caller.agentId, runId, left: hearing.left })
  const dispatched = dispatch(deps, {
    chain,
    hearing,
    waits,
    open: (model) =>
      openCall(deps, caller, { model, parameters, hearing, input, asksAgain: input.asksAgain === true }),
    receive: (reply, opened) => receive(dialect, reply, opened),
  })
    .catch((error: unknown) => {
      if (isOfMind(deps, caller)) deps.windows.refused(caller.agentId, error)
      throw error
    })
    .finally(release)
    .finally(ended)
  if (!parameters.stream) return wholeAnswer(await unlessLeft(dispatched, hearing))
  // One that is left before it began is read on by the stream that it becomes.
  const streamed = streamedAnswer(deps, { dispatched, wantsUsage: parameters.wantsUsage, hearing, waits })
  return await unlessLeft(streamed, hearing)
}

/** The agent itself thinks, and no program of it: what it hears, it learns. */
function isOfMind({ dialect }: Parts, caller: Extract<Caller, { kind: 'agent' }>): boolean {
  return caller.token === 'door' && dialect.hasOutput
}

/** Whoever left waits for nothing; what becomes of the answer is settled by its account. */
function unlessLeft<Answer>(dispatched: Promise<Answer>, { left }: Hearing): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(left.reason)
    if (left.aborted) leave()
    else left.addEventListener('abort', leave, { once: true })
    dispatched.then(resolve, reject)
  })
}

interface Opened extends OpenCall {
  readonly model: CatalogModel
  readonly request: ProviderRequest
}

interface AskedCall {
  readonly model: CatalogModel
  readonly parameters: CallParameters
  readonly hearing: Hearing
  readonly asksAgain: boolean
  readonly input: CompletionInput
}

/** What was learned of the answers of this model to this agent bounds whoever can ask again; null for nobody else. */
function learnedBound(
  { answerBounds, dialect }: Parts,
  agentId: string,
  { model, parameters, asksAgain }: AskedCall,
): number | null {
  if (!asksAgain || parameters.maxTokens !== null || parameters.answers > 1) return null
  if (model.free || !dialect.hasOutput) return null
  return answerBounds.boundFor(agentId, model.id, model.defaultMaxTokens)
}

/** What of an answer nobody waits for is bounded by what is read on, and what anybody's call keeps by the bytes of its agent. */
function boundsOf({ spend }: Parts, agentId: string, { hearing, input }: AskedCall): CallBounds {
  let bytes = 0
  let heard = 0
  return {
    spend: (work) => spend(agentId, work),
    hold: (more) => {
      bytes += more
      if (hearing.left.aborted) {
        hearing.heard(bytes - heard)
        heard = bytes
      }
      input.hold?.(more)
    },
  }
}

/** What one model would be sent, and what that may cost. */
function draftFor(deps: Parts, agentId: string, call: AskedCall) {
  const { model, parameters: asked } = call
  const { dialect } = deps
  if (!model.llm.forms.has(dialect.form)) {
    throw new Problem('bad-request', { detail: `${model.id} does not answer ${dialect.form} calls` })
  }
  requireBounded(asked.prompt, model)
  const terms = serverToolTerms(model, asked)
  const parameters = terms === null ? asked : { ...asked, forwarded: terms.forwarded }
  const price = priceWithTools(deps.priceOf(model), terms)
  const draft = JSON.stringify({ model: model.model, ...parameters.forwarded })
  const draftBytes = Buffer.byteLength(draft)
  const learned = learnedBound(deps, agentId, call)
  const wishedTokens = parameters.maxTokens?.value ?? learned ?? model.defaultMaxTokens
  const promptTokens = tokensWithTools(
    promptTokensAtMost(parameters.prompt, draftBytes, model.media),
    terms,
    wishedTokens,
  )
  return { dialect, parameters, price, draft, draftBytes, learned, wishedTokens, promptTokens }
}

/** What one model is sent, with the money for it set aside. */
async function openCall(
  deps: Parts,
  caller: Extract<Caller, { kind: 'agent' }>,
  call: AskedCall,
): Promise<Opened> {
  const { agentId } = caller
  const { model, hearing } = call
  const bounds = boundsOf(deps, agentId, call)
  const drafted = deps.spend(agentId, () => draftFor(deps, agentId, call))
  const { dialect, parameters, price, learned, promptTokens } = drafted
  const reservation = await deps.gate.reserve({
    agentId,
    run: caller.run,
    model: model.id,
    promptTokens,
    promptNano: Math.ceil(promptTokens * price.inputNanoPerToken + price.callNano),
    outputNanoPerToken: dialect.hasOutput ? price.outputNanoPerToken : 0,
    answers: parameters.answers,
    maxTokens: dialect.hasOutput ? drafted.wishedTokens : 1,
  })
  const closed = hearing.opened(reservation.reservedNano > 0)
  const ended = call.input.keep?.()
  const releaseLease = deps.holdLease(caller.run)
  hearing.left.addEventListener('abort', releaseLease, { once: true })
  const account = openCallAccount(deps, {
    agentId,
    runId: caller.run?.runId ?? null,
    model: model.id,
    price,
    reservation,
    promptTokens,
    windowTokens: model.windowTokens,
    answers: parameters.answers,
    answered: (told) => {
      if (call.asksAgain) deps.answerBounds.saw(agentId, model.id, told.completionTokens)
      if (isOfMind(deps, caller)) deps.windows.answered(agentId, model.id, told.promptTokens)
    },
    closed: () => {
      releaseLease()
      closed()
      ended?.()
    },
  })
  const request = deps.spend(agentId, () => requestFor(agentId, model, { ...drafted, reservation }))
  const billed = (usage: TokenUsage) => billedUsage(usage, model.usageRule)
  // Of a lower bound the budget is the reason, and asking again does not help.
  const answerBound = reservation.maxTokens === learned ? learned : null
  const told = call.asksAgain ? { answerBound } : {}
  return {
    model,
    request,
    hearing,
    bounds,
    ...told,
    account: billedAccount(account, billed),
    costUsdOf: (usage) => usdFromNano(price.costNano(billed(usage))),
  }
}

function billedAccount(account: CallAccount, billed: (usage: TokenUsage) => TokenUsage): CallAccount {
  return {
    settle: (usage) => account.settle(billed(usage)),
    settleUnconfirmed: (why, told = null) => account.settleUnconfirmed(why, told && billed(told)),
    refund: account.refund,
  }
}

async function receive(dialect: Dialect, reply: ProviderReply, opened: Opened): Promise<Received> {
  const isStream = opened.request.stream && reply.contentType.includes('event-stream')
  if (!isStream) return { whole: await wholeReply(reply, opened, dialect) }
  const { account, hearing, model } = opened
  const told = { account, hearing, secrets: model.secrets, dialect }
  return { reply: await firstWords(reply, told), call: opened }
}

function readBounded(dialect: Dialect, { body, betas }: CompletionInput): CallParameters {
  if (body.length > wireLimits.modelBodyMaxBytes) {
    throw new Problem('body-too-large', { detail: `at most ${wireLimits.modelBodyMaxBytes} bytes` })
  }
  return dialect.read(body, betas ?? [])
}

/** The bound is added last: it is what the reservation allows, and free models get one only if the client set it. */
function requestFor(
  agentId: string,
  model: CatalogModel,
  call: {
    dialect: Dialect
    parameters: CallParameters
    draft: string
    draftBytes: number
    reservation: Reservation
  },
): ProviderRequest {
  const { dialect, parameters, reservation } = call
  const fitted = parameters.fit?.(parameters.forwarded, reservation.maxTokens) ?? parameters.forwarded
  const draft =
    fitted === parameters.forwarded ? call.draft : JSON.stringify({ model: model.model, ...fitted })
  const draftBytes = fitted === parameters.forwarded ? call.draftBytes : Buffer.byteLength(draft)
  const field = parameters.maxTokens?.field ?? (model.free || !dialect.hasOutput ? null : model.boundField)
  const end = field === null ? '}' : `,"${field}":${reservation.maxTokens}}`
  const body = Buffer.allocUnsafe(draftBytes - 1 + end.length)
  body.write(draft, 'utf8')
  body.write(end, draftBytes - 1, 'latin1')
  return {
    form: dialect.form,
    agentId,
    model: model.model,
    stream: parameters.stream,
    parameters: fitted,
    body,
    ...(parameters.betas === undefined ? {} : { betas: parameters.betas }),
  }
}
