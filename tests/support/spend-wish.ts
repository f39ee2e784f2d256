import type { ReserveWish } from '../../packages/inference/src/spending/reservation.ts'

/** A reservation request of one call: 10 nano-dollars for each output token, and 100 for the prompt. */
export function aWish(changes: Partial<ReserveWish> = {}): ReserveWish {
  return {
    agentId: 'a',
    run: null,
    model: 'm/one',
    promptTokens: 1,
    promptNano: 100,
    outputNanoPerToken: 10,
    answers: 1,
    maxTokens: 10,
    ...changes,
  }
}
