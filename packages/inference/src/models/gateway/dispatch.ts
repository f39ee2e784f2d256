import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/foundation/platform'
import { chooseModel, nextStep } from './failover.ts'
import type { Candidate, Choice, Failure } from './failover.ts'
import type { ProviderReply } from '../llm-provider.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { Opened } from './open-call.ts'
import { failureFromError, failureFromRefusal } from './provider-failure.ts'
import type { ClientConnection } from './read-on.ts'
import { rememberedRefusal, whyNoAnswer } from './why-no-answer.ts'
import { spendIn } from '../wire/collect-reply.ts'
import type { CallWaits } from './report-waits.ts'
import type { ModelWatch } from './watch-models.ts'

interface ChainCall<Answer> {
  readonly agentId: string
  /** The requested model and its fallbacks, in order; never empty. */
  readonly chain: readonly CatalogModel[]
  /** Reserves the cost of one attempt; throws if the budget does not allow it. */
  readonly open: (model: CatalogModel) => Promise<Opened>
  /**
   * Reads a reply with status 200 until the answer may be forwarded. Before it resolves, the client has received
   * nothing, so another model may answer instead. Before it throws, it settles the reservation.
   */
  readonly receive: (reply: ProviderReply, opened: Opened) => Promise<Answer>
  /** Once the client has disconnected, the current attempt is read to its end and no other begins. */
  readonly client: ClientConnection
  /** Notifies the caller why it has to wait. */
  readonly waits: CallWaits
}

/** An answer, the model that gave it, and the number of attempts. */
export interface Answered<Answer> {
  readonly answer: Answer
  readonly model: CatalogModel
  readonly attempts: number
  /** When the successful attempt was sent, for later reports about the model's health. */
  readonly askedAt: number
}

interface DispatchDeps {
  readonly clock: Clock
  readonly log: Log
  readonly watch: ModelWatch
  /** Returns 0 to 1, to spread retries. */
  readonly chance: () => number
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
export async function dispatch<Answer>(
  deps: DispatchDeps,
  call: ChainCall<Answer>,
): Promise<Answered<Answer>> {
  const walk: Walk = {
    beganAt: deps.clock.now(),
    attempts: 0,
    untried: new Set(call.chain.keys()),
    failure: null,
    refusal: null,
  }
  let choice = chooseModel(candidates(deps, call, walk))
  while (choice) {
    const model = call.chain[choice.index]
    if (!model) break
    walk.untried.delete(choice.index)
    const { isLastResort } = choice
    const tried: Tried<Answer> = await tryModel(deps, call, { model, walk, isLastResort })
    if ('answer' in tried) return tried
    choice = tried.next
    if (choice) {
      const next = call.chain[choice.index]?.id
      deps.log.warn(
        { model: model.id, next, attempts: walk.attempts },
        'a model did not answer; trying the next fallback',
      )
    }
  }
  throw whyNoAnswer(walk, rememberedRefusal(deps.watch, call))
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

/** The answer, or the model to try next; null if no model remains. */
type Tried<Answer> = Answered<Answer> | { readonly next: Choice | null }

/** Makes all attempts at one model. Throws other errors: a Problem of the mesh, or the abort reason. */
async function tryModel<Answer>(
  deps: DispatchDeps,
  call: ChainCall<Answer>,
  { model, walk, isLastResort }: { model: CatalogModel; walk: Walk; isLastResort: boolean },
): Promise<Tried<Answer>> {
  const { clock, watch } = deps
  /** A reserved call that has not been billed. */
  let held: Opened | null = null
  try {
    for (let retries = 0; ; retries++) {
      held ??= await openNext(call, model, walk)
      call.client.left.throwIfAborted()
      if (held === null) return { next: chooseModel(candidates(deps, call, walk)) }
      const askedAt = clock.now()
      walk.attempts++
      const outcome: Outcome<Answer> = await attemptOnce(model, call, held)
      if ('answer' in outcome) {
        held = null
        watch.answered(model, { agentId: call.agentId, at: askedAt })
        return { ...outcome, model, attempts: walk.attempts, askedAt }
      }
      const { failure } = outcome
      walk.failure = failure
      if (failure.mayBeBilled) held = null
      call.client.left.throwIfAborted()
      const elapsedMs = clock.now() - walk.beganAt
      const others = candidates(deps, call, walk)
      const step = nextStep({ failure, retries, isLastResort, elapsedMs, others, chance: deps.chance() })
      if (step.do !== 'retry') {
        watch.failed(model, failure, { agentId: call.agentId, at: askedAt })
        return { next: step.do === 'switch' ? step : null }
      }
      deps.log.warn(
        { model: model.id, code: failure.problem.code, attempts: walk.attempts },
        'a model did not answer; retrying',
      )
      call.waits.retrying(model, failure, { waitMs: step.waitMs, elapsedMs })
      await clock.sleep(step.waitMs, call.client.left)
    }
  } finally {
    held?.account.refund()
  }
}

export type Outcome<Answer> = { readonly answer: Answer } | { readonly failure: Failure }

/** Makes one attempt. Settles the account if the provider may bill; if surely not, leaves it open. */
export async function attemptOnce<Answer>(
  model: CatalogModel,
  call: Pick<ChainCall<Answer>, 'receive' | 'client' | 'waits'>,
  opened: Opened,
): Promise<Outcome<Answer>> {
  const { client } = call
  const waited = call.waits.asking(model)
  const settleUnseen = () => opened.account.settleUnconfirmed(client.why() ?? 'broken-off')
  try {
    const options = { ...opened.bounds, signal: client.cut }
    const reply = await spendIn(opened.bounds, () => model.llm.complete(opened.request, options))
    if (reply.status === 200) {
      const answer = await call.receive(reply, opened)
      call.waits.over(model)
      return { answer }
    }
    const failure = await failureFromRefusal(reply, model, opened)
    if (failure.mayBeBilled) settleUnseen()
    return { failure }
  } catch (error) {
    const failure = client.cut.aborted ? null : failureFromError(error, model)
    if (failure?.mayBeBilled !== false) settleUnseen()
    if (failure === null) throw error
    return { failure }
  } finally {
    waited.end()
  }
}

/**
 * Opens a call; null for a fallback that cannot be used, for example because of the budget. Throws the error of the
 * requested model if no attempt has failed before.
 */
async function openNext(
  call: Pick<ChainCall<unknown>, 'open' | 'chain'>,
  model: CatalogModel,
  walk: Walk,
): Promise<Opened | null> {
  try {
    return await call.open(model)
  } catch (error) {
    const isWanted = model === call.chain[0]
    if (!(error instanceof Problem) || (isWanted && walk.failure === null)) throw error
    walk.refusal = error
    return null
  }
}

function candidates(
  { watch }: DispatchDeps,
  { chain, agentId }: Pick<ChainCall<unknown>, 'chain' | 'agentId'>,
  walk: Walk,
): Candidate[] {
  return [...walk.untried].flatMap((index) => {
    const model = chain[index]
    if (!model) return []
    const coolDownLeftMs = watch.coolDownLeftMs(model, agentId)
    return [{ index, coolDownLeftMs, isShut: watch.refusalOf(model) !== null }]
  })
}
