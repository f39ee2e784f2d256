import type { Chain } from './chain.ts'

/** What somebody wants done on a chain. Amounts are base units. An `asset` of null is the chain's own coin, else a token's address. */
export type Order =
  | { readonly do: 'transfer'; readonly asset: string | null; readonly to: string; readonly raw: bigint }
  | { readonly do: 'call'; readonly contract: string; readonly call: ContractCall; readonly raw: bigint }

/** `name(type,...)` and its arguments as JSON has them: whole numbers as digits, addresses and bytes as text, tuples as lists. */
export interface ContractCall {
  readonly function: string
  readonly args: readonly unknown[]
}

/** Where a transaction stands among others: by its number, or until a height of the chain after which it can never land. */
export type Place =
  | { readonly kind: 'nonce'; readonly nonce: number }
  | { readonly kind: 'expiring'; readonly blockhash: string; readonly lastHeight: number }

/** What the chain says would happen if it landed now. */
export type Simulation =
  | {
      readonly kind: 'moves'
      readonly effects: Effects
      /** Whom it names or enriches by what is not the sender's: who may come by something later; left out where that cannot be. */
      readonly others?: readonly string[]
      /** Contracts that it reaches and that do not say what they did; left out where each says it. */
      readonly unseen?: readonly string[]
    }
  /** It would be undone, and cost its fee for nothing. */
  | { readonly kind: 'fails'; readonly reason: string }
  /** The far end has no method for it, or what it said is not whole. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** As seen from whoever signs. */
export interface Effects {
  /** Less of it (negative) or more, the fee aside; each asset once. */
  readonly changes: readonly { readonly asset: string | null; readonly raw: bigint }[]
  /** Whoever is handed something of it, or holds it in the end, as far as the chain tells. */
  readonly payees: readonly string[]
  /** What others may take from then on. */
  readonly grants: readonly Grant[]
}

export interface Grant {
  readonly asset: string
  readonly spender: string
  /** Of an unlimited one: what is there of the asset now. */
  readonly raw: bigint
  /** Of everything that is there or comes. */
  readonly unlimited: boolean
}

/** A transaction that is whole but for its place and its signature. Plain data; nothing of it is asked again to sign it. */
export interface Plan {
  readonly from: string
  /** Whom the transaction itself names: a recipient, or a contract. */
  readonly to: string
  /** Of a call, its function by name and types alone: names of parameters are the caller's own words; left out where nothing is called. */
  readonly called?: string
  /** The adapter's own text of all that is signed but the place. */
  readonly unsigned: string
  /** Chain, destination, token and amount, and of a call all that it says; without fees, place and sender. Equal texts are equal payments. */
  readonly does: string
  /** The most that it can cost in fees, base units of the chain's coin. */
  readonly feeMaxRaw: bigint
  /** Of `from`, as the chain has it now with what waits there; a wallet that has given a later nonce itself signs that one. */
  readonly place: Place
  readonly simulation: Simulation
  /** What whoever decides about it should know of the asset, the rest of a sentence each. */
  readonly warnings: readonly string[]
}

export interface Signed {
  /** By which the chain names it, known before it is sent. */
  readonly id: string
  /** As it is broadcast, in the chain's own text form. */
  readonly bytes: string
}

/** What is known of a signed transaction. `final`: no reorganisation that the chain's depth allows takes it back. */
export type Fate =
  /** Neither in a block nor in a pool: to be sent again, the same bytes. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'landed'
      readonly succeeded: boolean
      readonly block: number
      readonly final: boolean
      /** What it did, as far as the chain's own record tells; null where that tells nothing. */
      readonly effects: Effects | null
    }
  /** It can never land: another transaction has its nonce, so deep that this stays. */
  | { readonly kind: 'replaced' }
  /** It can never land: the chain is past its last height, by a block that stays, and has it nowhere. */
  | { readonly kind: 'expired' }

/** How a signed transaction is given its number once more: to do the same sooner, or nothing in its place. */
export type Replacing = 'speed-up' | 'cancel'

/** Another transaction of the same number. */
export interface Replacement {
  readonly plan: Plan
  /** The most that the one before can cost in fees, as the chain is now. */
  readonly feeBeforeRaw: bigint
}

/** What the key of an address signed, as far as a chain without numbers tells. */
export interface SignedElsewhere {
  /** The first transaction of it that is not the caller's own; null where there is none. */
  readonly foreign: string | null
  /** The adapter's own text of how far it has looked. */
  readonly seen: string
  /** Transactions behind that which were not checked yet: the next call goes on there. Left out for none. */
  readonly unchecked?: number
}

export interface TokenFacts {
  readonly decimals: number
  /** As the contract says, in plain characters, with a question mark for each other one; it may claim any. */
  readonly symbol: string
}

/**
 * PORT: a chain on which is paid. To what `chain.ts` promises it adds:
 *
 * - `plan`, `follow`, `token`, `held` and `read` change nothing anywhere. `sign` asks nobody and is pure: the same plan, place and
 *   key give the same bytes.
 * - `broadcast` may be told the same bytes any number of times. It resolves when the far end took them or has them; that it
 *   rejects says nothing about whether they left. What became of them is `follow`'s to say.
 * - `replaced` and `expired` are said only of what provably never lands; whoever is not sure says `missing` or `waiting`.
 * - `replacing` keeps everything of a signed transaction but its fees, or moves nothing at all; at its number only one of both can
 *   land. Where no number holds its place it is Problem `unprocessable`, and so it is where the fees are not there.
 * - `signedElsewhere` tells of what the key of an address signed since it was asked last, in blocks that stay; what was there when
 *   it was asked first is believed. Null where numbers tell it.
 * - An order that makes no sense on the chain (an address, a function, an amount) is Problem `bad-request`.
 */
export interface PayingChain extends Chain {
  plan(from: string, order: Order, signal: AbortSignal): Promise<Plan>
  /** `key`: 32 bytes, the caller's to wipe. */
  sign(plan: Plan, place: Place, key: Uint8Array): Signed
  broadcast(signed: Signed, signal: AbortSignal): Promise<void>
  replacing(
    sent: { readonly from: string; readonly bytes: string; readonly place: Place },
    how: Replacing,
    signal: AbortSignal,
  ): Promise<Replacement>
  signedElsewhere(
    address: string,
    known: { readonly since: string | null; readonly isOwn: (id: string) => boolean },
    signal: AbortSignal,
  ): Promise<SignedElsewhere | null>
  follow(
    sent: { readonly from: string; readonly place: Place; readonly id: string },
    signal: AbortSignal,
  ): Promise<Fate>
  /** Of a token's contract. Rejects where there is none. */
  token(address: string, signal: AbortSignal): Promise<TokenFacts>
  /** Base units of a token that an address can pay with. Rejects where there is no such token. */
  held(token: string, address: string, signal: AbortSignal): Promise<bigint>
  /** What a call of a function that changes nothing returns, as JSON has it. */
  read(
    contract: string,
    call: ContractCall & { readonly returns: readonly string[] },
    signal: AbortSignal,
  ): Promise<readonly unknown[]>
}
