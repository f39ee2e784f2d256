import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '../events/event-bus.ts'
import { streamedTokensAtMost } from './estimate.ts'
import { usdFromNano } from './money.ts'
import type { StreamProgress } from './pass-stream.ts'
import type { Price } from './price-list.ts'
import type { Reservation, SpendGate } from './reserve-settle.ts'
import type { TokenUsage } from './usage.ts'

/**
 * The money of one open call. It is closed once, by whatever comes first: the usage at the end, a cut with an
 * estimate, or a refund; every later close does nothing. `closed` runs with the first.
 */
export interface CallAccount {
  settle(usage: TokenUsage): void
  /** For an answer that told no usage: the whole prompt, and at most what has been streamed. */
  settleEstimate(progress: StreamProgress | null): void
  /** For an answer that may have been made and was never seen: all that was set aside. */
  settleFull(): void
  refund(): void
}

export interface CallAccountInput {
  readonly agentId: string
  readonly runId: string | null
  readonly model: string
  readonly price: Price
  readonly reservation: Reservation
  readonly promptTokens: number
  readonly closed: () => void
}

export function openCallAccount(
  deps: { readonly gate: SpendGate; readonly events: Pick<EventBus, 'publish'>; readonly clock: Clock },
  input: CallAccountInput,
): CallAccount {
  const startedAt = deps.clock.now()
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

  function pay(costNano: number, promptTokens: number, completionTokens: number): void {
    const durationMs = deps.clock.now() - startedAt
    deps.gate.settle(input.reservation, { costNano, promptTokens, completionTokens }, () =>
      deps.events.publish({
        type: 'model.called',
        agent_id: input.agentId,
        run_id: input.runId,
        model: input.model,
        tokens: promptTokens + completionTokens,
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        cost_usd: usdFromNano(costNano),
        duration_ms: durationMs,
      }),
    )
  }

  return {
    settle: (usage) =>
      close(() => pay(input.price.costNano(usage), usage.promptTokens, usage.completionTokens)),
    settleEstimate: (progress) =>
      close(() => {
        const completionTokens = progress === null ? 0 : streamedTokensAtMost(progress)
        const costNano = Math.ceil(
          input.promptTokens * input.price.inputNanoPerToken +
            completionTokens * input.price.outputNanoPerToken,
        )
        pay(Math.min(costNano, input.reservation.reservedNano), input.promptTokens, completionTokens)
      }),
    settleFull: () =>
      close(() => {
        const { reservedNano, maxTokens } = input.reservation
        pay(reservedNano, input.promptTokens, maxTokens)
      }),
    refund: () => close(() => deps.gate.refund(input.reservation)),
  }
}
