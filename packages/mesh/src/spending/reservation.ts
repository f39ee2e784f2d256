import type { BudgetAccount } from './budget-limits.ts'
import type { Hold } from './holds.ts'
import type { SpendRow } from './spend-table.ts'

/** One model call, as it asks for its money. */
export interface ReserveWish {
  readonly agentId: string
  readonly run: BudgetAccount['run']
  readonly model: string
  readonly promptTokens: number
  readonly promptNano: number
  /** Dearest price of one token of output. */
  readonly outputNanoPerToken: number
  /** Answers asked for at once. */
  readonly answers: number
  readonly maxTokens: number
}

/** Money that is set aside for one call. */
export interface Reservation {
  readonly id: string
  readonly reservedNano: number
  /** What was wished for, or what is left of the budget if that is less. At least 1. */
  readonly maxTokens: number
  /** The row of the table at the end. */
  readonly row: SpendRow
  readonly openedAt: number
  /** What it was taken from; null where nothing had to be set aside. */
  readonly hold: Hold | null
}

/** With the project that its agent belongs to now. */
export type OwnWish = ReserveWish & { readonly project: string | null }

/** What costs nothing is never refused, also by a budget that is overdrawn, and needs no row before its end. Pure. */
export function isFree(wish: ReserveWish): boolean {
  return wish.promptNano === 0 && wish.outputNanoPerToken === 0
}

export function costAtMost(wish: ReserveWish, maxTokens: number): number {
  return Math.ceil(wish.promptNano + maxTokens * wish.answers * wish.outputNanoPerToken)
}

/** Pure. Less than 1 when not even one token of output is left. */
export function affordableTokens(wish: ReserveWish, leftNano: number): number {
  const perToken = wish.outputNanoPerToken * wish.answers
  const leftForOutput = leftNano - wish.promptNano
  if (perToken === 0) return leftForOutput >= 0 ? wish.maxTokens : 0
  return Math.min(wish.maxTokens, Math.floor(leftForOutput / perToken))
}
