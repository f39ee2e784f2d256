import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import { bookable, usdFromNano } from '../../spending/index.ts'
import { cacheUseOf } from '../catalog/cache-costs.ts'
import type { Price } from '../catalog/model-prices.ts'
import type { Reservation, SpendClosing, Spending, UnknownCost } from '../../spending/index.ts'
import type { TokenUsage } from '../formats/usage.ts'
import { cacheFields, usageReading } from './usage-reading.ts'
import type { UsageReading } from './usage-reading.ts'

/**
 * The account of one open call. The first of three events closes it: the final usage, an end with unknown cost, or a
 * refund; later closes have no effect. `closed` runs at the first.
 */
export interface CallAccount {
  settle(usage: TokenUsage): void
  /** Charges an answer of unknown cost: the whole reservation, or more if the provider has reported more so far. */
  settleUnconfirmed(why: UnknownCost, reported?: TokenUsage | null): void
  refund(): void
  isClosed(): boolean
}

export interface CallAccountInput {
  readonly agentId: string
  readonly runId: string | null
  readonly model: string
  readonly operation: 'chat' | 'embeddings' | 'transcription'
  readonly price: Price
  readonly usage?: UsageReading
  readonly reservation: Reservation
  readonly promptTokens: number
  /** The limit in tokens of the prompt and of each answer; an unknown cost is charged up to this limit. */
  readonly windowTokens: number
  /** The number of answers that the call requests. */
  readonly answers: number
  /** Called with the tokens of prompt and answer, if the provider reported them. */
  readonly answered: (reported: { readonly promptTokens: number; readonly completionTokens: number }) => void
  readonly closed: () => void
}

export function openCallAccount(
  deps: {
    readonly spending: Pick<Spending, 'settle' | 'refund'>
    readonly events: Pick<EventBus, 'publish'>
    readonly clock: Clock
    readonly log: Pick<Log, 'error'>
  },
  input: CallAccountInput,
): CallAccount & { settleCost(reported: SpendClosing): void } {
  const startedAt = deps.clock.now()
  const { billed, cacheBreak } = input.usage ?? usageReading({})
  let isOpen = true

  function close(how: () => void): void {
    if (!isOpen) return
    isOpen = false
    try {
      how()
    } finally {
      input.closed()
    }
  }

  function pay(reported: SpendClosing): void {
    const closing = booked(reported)
    const durationMs = deps.clock.now() - startedAt
    const { costNano, promptTokens, completionTokens, unconfirmed, cache } = closing
    const event: FleetEventBody = {
      type: 'model.called',
      agent_id: input.agentId,
      run_id: input.runId,
      model: input.model,
      operation: input.operation,
      tokens: promptTokens + completionTokens,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      ...cacheFields(cache, cacheBreak),
      cost_usd: usdFromNano(costNano),
      ...(unconfirmed === undefined ? {} : { unconfirmed }),
      duration_ms: durationMs,
      started_at: startedAt,
    }
    deps.spending.settle(input.reservation, closing, announcing(deps.events, event))
  }

  /** Limits reported amounts, which are untrusted, to numbers that the ledger can store and read again. */
  function booked(reported: SpendClosing): SpendClosing {
    const closing = {
      ...reported,
      costNano: bookable(reported.costNano, input.reservation.reservedNano),
      promptTokens: bookable(reported.promptTokens),
      completionTokens: bookable(reported.completionTokens),
    }
    const numbers = ['costNano', 'promptTokens', 'completionTokens'] as const
    if (numbers.some((name) => closing[name] !== reported[name])) {
      const { agentId, model } = input
      deps.log.error(
        { agentId, model, told: reported, closing },
        'a provider reported implausible usage; booking it within the reserved bounds',
      )
    }
    return closing
  }

  return {
    settle: (reported) =>
      close(() => {
        const usage = billed(reported)
        const { promptTokens, completionTokens } = usage
        const costNano = input.price.costNano(usage)
        const cache = cacheUseOf(input.price, usage)
        input.answered({ promptTokens: bookable(promptTokens), completionTokens: bookable(completionTokens) })
        pay({ costNano, promptTokens, completionTokens, ...(cache === null ? {} : { cache }) })
      }),
    // Settles calls that are not billed by tokens, such as transcriptions, which are billed by duration.
    settleCost: (reported) => close(() => pay(reported)),
    settleUnconfirmed: (why, soFar = null) =>
      close(() => {
        const usage = soFar && billed(soFar)
        const { reservedNano, maxTokens } = input.reservation
        const { windowTokens: window, answers } = input
        const prompt = Math.max(input.promptTokens, bookable(usage?.promptTokens ?? 0))
        const completion = Math.max(maxTokens * answers, bookable(usage?.completionTokens ?? 0))
        pay({
          costNano: Math.max(reservedNano, usage === null ? 0 : bookable(input.price.costNano(usage))),
          promptTokens: Math.min(prompt, window),
          completionTokens: Math.min(completion, window * answers),
          unconfirmed: why,
        })
      }),
    refund: () => close(() => deps.spending.refund(input.reservation)),
    isClosed: () => !isOpen,
  }
}

/** This function waits for a commit, so it keeps only the event in memory and not the prompt of the call. */
function announcing(events: Pick<EventBus, 'publish'>, event: FleetEventBody): () => void {
  return () => events.publish(event)
}
