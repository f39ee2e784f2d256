import type { BudgetAccount } from './budget-limits.ts'
import type { Hold } from './holds.ts'
import type { SpendRow } from './spend-table.ts'

/** One model call that requests a reservation. */
export interface ReserveWish {
  readonly agentId: string
  readonly run: BudgetAccount['run']
  readonly model: string
  readonly promptTokens: number
  readonly promptNano: number
  /** The highest price of one output token. */
  readonly outputNanoPerToken: number
  /** The number of answers that the call requests. */
  readonly answers: number
  readonly maxTokens: number
}

/** Money that is reserved for one call. */
export interface Reservation {
  readonly id: string
  readonly reservedNano: number
  /** The requested maximum, or what the budget still allows if that is less. At least 1. */
  readonly maxTokens: number
  /** The row that is written when the call ends. */
  readonly row: SpendRow
  readonly openedAt: number
  /** The hold that the money was taken from; null if nothing had to be reserved. */
  readonly hold: Hold | null
}

/** A request with the agent's current project. */
export type OwnWish = ReserveWish & { readonly project: string | null }

/** Whether a call is free. Even an overdrawn budget never refuses it, and it has no row before its end. Pure. */
export function isFree(wish: ReserveWish): boolean {
  return wish.promptNano === 0 && wish.outputNanoPerToken === 0
}

export function costAtMost(wish: ReserveWish, maxTokens: number): number {
  return Math.ceil(wish.promptNano + maxTokens * wish.answers * wish.outputNanoPerToken)
}

/** Returns the number of output tokens that the money allows; less than 1 if it does not allow even one. Pure. */
export function affordableTokens(wish: ReserveWish, leftNano: number): number {
  const perToken = wish.outputNanoPerToken * wish.answers
  const leftForOutput = leftNano - wish.promptNano
  if (perToken === 0) return leftForOutput >= 0 ? wish.maxTokens : 0
  return Math.min(wish.maxTokens, Math.floor(leftForOutput / perToken))
}
