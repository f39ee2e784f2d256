import type { IntentState } from '@flotilla/protocol/wallet-payments'
import type { Effects, Fate, Place } from '../chain/paying-chain.ts'

/** A payment that is signed. Times are milliseconds since 1970. */
export interface IntentRecord {
  readonly id: string
  /** Of the call of a tool that asked for it: the same call is the same payment. */
  readonly key: string
  readonly agentId: string
  readonly runId: string | null
  /** Who said yes to it, as the journal names them; null where nobody had to. */
  readonly approvedBy: string | null
  readonly chain: string
  readonly sender: string
  /** Whom the transaction names. */
  readonly recipient: string
  readonly place: Place
  /** Of its newest signature, or of the one that landed. */
  readonly txId: string
  readonly signedBytes: string
  /** What it costs, millionths of a US dollar, where the newest signature moves nothing, for it to land no more; else null. */
  readonly cancelFeeMicroUsd: number | null
  /** What it is, for people. */
  readonly words: string
  /** What it was signed for; null where nobody could say, and the owner let it be. */
  readonly effects: Effects | null
  /** Whoever is paid by it or may take from then on. */
  readonly payees: readonly string[]
  /** What it does, by `Plan.does`; null in rows of earlier releases. */
  readonly does: string | null
  /** Counted against the limits, millionths of a US dollar. */
  readonly chargedMicroUsd: number
  readonly signedAt: number
  readonly state: IntentState
  /** Where it landed, as far as is known. */
  readonly block: number | null
  /** What went wrong last, in words. */
  readonly note: string
  readonly polls: number
  readonly nextPollAt: number
  readonly endedAt: number | null
  readonly givenBackAt: number | null
}

/** A signature of the same number that came before the newest. */
export interface Superseded extends Pick<IntentRecord, 'txId' | 'signedBytes' | 'cancelFeeMicroUsd'> {
  /** The most that its fee could be, base units. */
  readonly feeRaw: bigint
}

/** What is learned of an intent: what became of it on the chain, that the far end took its bytes, or that its owner has its number back. */
export type IntentNews = Fate | { readonly kind: 'taken' | 'cancelled' }

/**
 * Which state follows which news; a state that is left out of a row stays.
 *
 * - Only a block that stays ends one that landed: before, a reorganisation takes it back to `sent`.
 * - `replaced`, `expired` and `cancelled` alone are ends in which it provably never landed; the last one cost a fee all the same.
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

/** Pure. */
export function stateAfter(state: IntentState, news: IntentNews): IntentState {
  return table[state][nameOf(news)] ?? state
}

function nameOf(news: IntentNews): NewsName {
  if (news.kind !== 'landed' || !news.final) return news.kind
  return news.succeeded ? 'confirmed' : 'failed'
}

/** Pure. */
export function hasEnded(state: IntentState): boolean {
  return Object.keys(table[state]).length === 0
}

/** All that it was charged goes back: it can never land, and nothing was paid for that. Pure. */
export function neverLanded(state: IntentState): boolean {
  return state === 'replaced' || state === 'expired'
}

const firstPollMs = 2000
const longestWaitMs = 10 * 60_000

/** When it is looked at next: soon while it is young, and never later than ten minutes from now. Pure. */
export function nextPollAfter(signedAt: number, now: number): number {
  return now + Math.min(longestWaitMs, Math.max(firstPollMs, Math.floor((now - signedAt) / 10)))
}
