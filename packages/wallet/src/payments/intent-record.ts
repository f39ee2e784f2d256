import type { IntentState } from '@flotilla/protocol/wallet-payments'
import type { Effects, Fate, Place } from '../chain/paying-chain.ts'

/** A signed payment. Times are milliseconds since 1970. */
export interface IntentRecord {
  readonly id: string
  /** The id of the tool call that requested the payment. The same id means the same payment. */
  readonly key: string
  readonly agentId: string
  readonly runId: string | null
  /** Who approved the payment, in the form of the audit log; null if no approval was needed. */
  readonly approvedBy: string | null
  readonly chain: string
  readonly sender: string
  /** The recipient in the transaction. */
  readonly recipient: string
  readonly place: Place
  /** The transaction id of the newest signature, or of the one that landed. */
  readonly txId: string
  readonly signedBytes: string
  /**
   * The fee of the cancelling transaction in millionths of a US dollar; null if the newest signature cancels nothing.
   */
  readonly cancelFeeMicroUsd: number | null
  /** The description of the payment for people. */
  readonly words: string
  /** The effects for which the payment was signed; null if they were unknown and the owner allowed that. */
  readonly effects: Effects | null
  /** The addresses that the payment pays or grants an allowance. */
  readonly payees: readonly string[]
  /** `Plan.does`; null in rows of earlier releases. */
  readonly does: string | null
  /** The amount that counts against the limits, in millionths of a US dollar. */
  readonly chargedMicroUsd: number
  readonly signedAt: number
  readonly state: IntentState
  /** The block that contains the transaction; null if no such block is known. */
  readonly block: number | null
  /** The last error, as text. */
  readonly note: string
  readonly polls: number
  readonly nextPollAt: number
  readonly endedAt: number | null
  readonly givenBackAt: number | null
}

/** An earlier signature with the same nonce. */
export interface Superseded extends Pick<IntentRecord, 'txId' | 'signedBytes' | 'cancelFeeMicroUsd'> {
  /** The maximum fee of the signature, in base units. */
  readonly feeRaw: bigint
}

/**
 * News about a payment: its fate on the chain, that the endpoint accepted it, or that its cancellation is final.
 */
export type IntentNews = Fate | { readonly kind: 'taken' | 'cancelled' }

/**
 * The next state for each kind of news; kinds that are left out keep the state.
 *
 * - Only a final block ends a landed payment; before, a reorganization returns it to `sent`.
 *
 * - Only `replaced`, `expired` and `cancelled` mean that it provably never landed; `cancelled` still cost a fee.
 */
const table: Readonly<Record<IntentState, Partial<Readonly<Record<NewsName, IntentState>>>>> = {
  signed: {
    taken: 'sent',
    waiting: 'sent',
    landed: 'landed',
    confirmed: 'confirmed',
    failed: 'failed',
    replaced: 'replaced',
    expired: 'expired',
    cancelled: 'cancelled',
  },
  sent: {
    landed: 'landed',
    confirmed: 'confirmed',
    failed: 'failed',
    replaced: 'replaced',
    expired: 'expired',
    cancelled: 'cancelled',
  },
  landed: {
    missing: 'sent',
    waiting: 'sent',
    confirmed: 'confirmed',
    failed: 'failed',
    replaced: 'replaced',
    expired: 'expired',
    cancelled: 'cancelled',
  },
  confirmed: {},
  failed: {},
  replaced: {},
  expired: {},
  cancelled: {},
}

type NewsName = IntentNews['kind'] | 'confirmed' | 'failed'

/** Returns the state after the news; unchanged if the table has no entry. Pure. */
export function stateAfter(state: IntentState, news: IntentNews): IntentState {
  return table[state][nameOf(news)] ?? state
}

function nameOf(news: IntentNews): NewsName {
  if (news.kind !== 'landed' || !news.final) return news.kind
  return news.succeeded ? 'confirmed' : 'failed'
}

/** True if the payment is no longer followed. Pure. */
export function hasEnded(state: IntentState): boolean {
  return Object.keys(table[state]).length === 0
}

/** True if the whole charge is refunded: the payment can never land, and no fee was paid. Pure. */
export function neverLanded(state: IntentState): boolean {
  return state === 'replaced' || state === 'expired'
}

/** The shortest wait before the state of a payment on its chain is checked again, in milliseconds. */
const firstPollMs = 2000
/** The longest wait before the state of a payment on its chain is checked again, in milliseconds. */
const longestWaitMs = 10 * 60_000

/** Returns the time of the next poll: soon for a young payment, and at most ten minutes from now. Pure. */
export function nextPollAfter(signedAt: number, now: number): number {
  return now + Math.min(longestWaitMs, Math.max(firstPollMs, Math.floor((now - signedAt) / 10)))
}
