import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, RunTicket } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Log } from '@flotilla/foundation/platform'
import { usdFromNano } from '../../spending/index.ts'
import type { Reservation, Spending } from '../../spending/index.ts'
import { requireBounded } from '../catalog/media-bounds.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { Price, PricedModel } from '../catalog/model-prices.ts'
import { priceWithTools, serverToolTerms, tokensWithTools } from '../catalog/server-tools.ts'
import type { StatedWindows } from '../catalog/stated-windows.ts'
import type { ApiFormat, CallParameters } from '../formats/api-format.ts'
import { draftOf } from '../formats/draft.ts'
import type { CallBounds, CallPurpose, ProviderRequest, RunCall } from '../llm-provider.ts'
import type { AnswerBounds } from './answer-bounds.ts'
import { openCallAccount } from './call-account.ts'
import { promptTokensAtMost } from './estimate.ts'
import type { ClientConnection } from './read-on.ts'
import type { Hold, OpenCall } from './reply-body.ts'
import { usageReading } from './usage-reading.ts'
import type { CachedCall } from './usage-reading.ts'

export type AgentCaller = Extract<Caller, { kind: 'agent' }>

export interface OpenCallDeps {
  readonly apiFormat: ApiFormat
  readonly spending: Pick<Spending, 'reserve' | 'settle' | 'refund'>
  readonly priceOf: (model: PricedModel) => Price
  readonly answerBounds: AnswerBounds
  readonly windows: Pick<StatedWindows, 'answered'>
  /** Renews the run's lease while one of its calls is open; returns the function that stops it. */
  readonly holdLease: (run: RunTicket | null) => () => void
  /** Runs synchronous work on the agent's share of the event loop. */
  readonly onShareOf: LoopShare['spend']
  readonly events: Pick<EventBus, 'publish'>
  readonly clock: Clock
  readonly log: Log
}

/** True for calls of the agent process itself, false for calls of the programs in its container. */
export function isFromAgentProcess(
  { apiFormat }: Pick<OpenCallDeps, 'apiFormat'>,
  caller: AgentCaller,
): boolean {
  return caller.token === 'door' && apiFormat.hasOutput
}

/** A call that may be sent: its request and its reserved money. */
export interface Opened extends OpenCall {
  readonly model: CatalogModel
  readonly request: ProviderRequest
}

export interface AskedCall {
  readonly model: CatalogModel
  readonly parameters: CallParameters
  readonly client: ClientConnection
  readonly asksAgain: boolean
  readonly purpose: CallPurpose
  /** How the provider caches the prompt; omitted for calls to which the mesh adds no cache marks. */
  readonly cache?: CachedCall
  /** `hold` counts the bytes of the answer; `keep` keeps the connection open if the client asked for that. */
  readonly input: { readonly hold?: Hold; readonly keep?: () => () => void }
}

/** Returns the limit learned from this model's answers to this agent; null if unknown or of no use to this call. */
function learnedBound(
  { answerBounds, apiFormat }: OpenCallDeps,
  agentId: string,
  { model, parameters, asksAgain }: AskedCall,
): number | null {
  if (!asksAgain || parameters.maxTokens !== null || parameters.answers > 1) return null
  if (model.free || !apiFormat.hasOutput) return null
  return answerBounds.boundFor(agentId, model.id, model.defaultMaxTokens)
}

/** Limits how much is read after the client has disconnected, and counts the call's memory to its agent. */
function boundsOf({ onShareOf }: OpenCallDeps, agentId: string, { client, input }: AskedCall): CallBounds {
  let bytes = 0
  let reportedBytes = 0
  return {
    spend: (work) => onShareOf(agentId, work),
    hold: (more) => {
      bytes += more
      if (client.left.aborted) {
        client.countLate(bytes - reportedBytes)
        reportedBytes = bytes
      }
      input.hold?.(more)
    },
  }
}

/** Returns the request to one model, and its highest possible cost. */
function draftFor(deps: OpenCallDeps, agentId: string, call: AskedCall) {
  const { model, parameters: requested } = call
  const { apiFormat } = deps
  if (!model.llm.forms.has(apiFormat.form)) {
    throw new Problem('bad-request', { detail: `${model.id} does not support ${apiFormat.form} calls` })
  }
  requireBounded(requested.prompt, model)
  const terms = serverToolTerms(model, requested)
  const parameters = terms === null ? requested : { ...requested, forwarded: terms.forwarded }
  const price = priceWithTools(deps.priceOf(model), terms)
  const draft = draftOf(model.model, parameters.forwarded, parameters.spelling)
  const learned = learnedBound(deps, agentId, call)
  const wishedTokens = parameters.maxTokens?.value ?? learned ?? model.defaultMaxTokens
  const promptTokens = tokensWithTools(
    promptTokensAtMost(parameters.prompt, draft.bytes, model.media),
    terms,
    wishedTokens,
  )
  return { apiFormat, parameters, price, draft, learned, wishedTokens, promptTokens }
}

/** Reserves the money for one call, and makes the request. */
export async function openCall(deps: OpenCallDeps, caller: AgentCaller, call: AskedCall): Promise<Opened> {
  const { agentId } = caller
  const { model, client } = call
  const bounds = boundsOf(deps, agentId, call)
  const drafted = deps.onShareOf(agentId, () => draftFor(deps, agentId, call))
  const { apiFormat, parameters, price, learned, promptTokens } = drafted
  const reservation = await deps.spending.reserve({
    agentId,
    run: caller.run,
    model: model.id,
    promptTokens,
    promptNano: Math.ceil(promptTokens * price.inputNanoPerToken + price.callNano),
    outputNanoPerToken: apiFormat.hasOutput ? price.outputNanoPerToken : 0,
    answers: parameters.answers,
    maxTokens: apiFormat.hasOutput ? drafted.wishedTokens : 1,
  })
  const closed = client.opened(reservation.reservedNano > 0)
  const ended = call.input.keep?.()
  const releaseLease = deps.holdLease(caller.run)
  client.left.addEventListener('abort', releaseLease, { once: true })
  const reading = usageReading(model.usageRule, call.cache)
  const account = openCallAccount(deps, {
    agentId,
    runId: caller.run?.runId ?? null,
    model: model.id,
    operation: apiFormat.hasOutput ? 'chat' : 'embeddings',
    price,
    usage: reading,
    reservation,
    promptTokens,
    windowTokens: model.windowTokens,
    answers: parameters.answers,
    answered: (usage) => {
      if (call.asksAgain) deps.answerBounds.saw(agentId, model.id, usage.completionTokens)
      if (isFromAgentProcess(deps, caller)) deps.windows.answered(agentId, model.id, usage.promptTokens)
    },
    closed: () => {
      releaseLease()
      closed()
      ended?.()
    },
  })
  const mayFit = isFromAgentProcess(deps, caller)
  const ofRun = mayFit && caller.run ? { ...caller.run, purpose: call.purpose } : null
  const make = () => requestFor(agentId, model, { ...drafted, reservation, ofRun, mayFit })
  // Closing a draft is cheap; fitting it prints the whole request again.
  const request = parameters.fit ? deps.onShareOf(agentId, make) : make()
  // If the budget lowered the bound further, a repeated call would not help, so no bound is reported.
  const answerBound = reservation.maxTokens === learned ? learned : null
  return {
    model,
    request,
    client,
    bounds,
    ...(call.asksAgain ? { answerBound } : {}),
    account,
    costUsdOf: (usage) => usdFromNano(price.costNano(reading.billed(usage))),
  }
}

/** Adds the token bound that the reservation allows; a free model gets a bound only if the client set one. */
function requestFor(
  agentId: string,
  model: CatalogModel,
  call: ReturnType<typeof draftFor> & { reservation: Reservation; ofRun: RunCall | null; mayFit: boolean },
): ProviderRequest {
  const { apiFormat, parameters, reservation } = call
  const fitted = parameters.fit?.(parameters.forwarded, reservation.maxTokens) ?? parameters.forwarded
  const draft =
    fitted === parameters.forwarded ? call.draft : draftOf(model.model, fitted, parameters.spelling)
  const field =
    parameters.maxTokens?.field ??
    (model.free || !apiFormat.hasOutput ? null : (apiFormat.boundField ?? model.boundField))
  const body = draft.closed(field === null ? null : { field, value: reservation.maxTokens })
  return {
    form: apiFormat.form,
    agentId,
    ...(call.ofRun === null ? {} : { ofRun: call.ofRun }),
    model: model.model,
    stream: parameters.stream,
    ...(call.mayFit ? { mayFit: true } : {}),
    parameters: fitted,
    body,
    ...(parameters.betas === undefined ? {} : { betas: parameters.betas }),
  }
}
