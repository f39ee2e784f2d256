import type { Chain } from './chain.ts'

/**
 * A payment or call on a chain. Amounts are base units. An `asset` of null is the chain's own coin, else a token's
 * address.
 */
export type Order =
  | { readonly do: 'transfer'; readonly asset: string | null; readonly to: string; readonly raw: bigint }
  | { readonly do: 'call'; readonly contract: string; readonly call: ContractCall; readonly raw: bigint }

/**
 * `name(type,...)` and its arguments as JSON: integers as digits, addresses and bytes as text, tuples as lists.
 */
export interface ContractCall {
  readonly function: string
  readonly args: readonly unknown[]
}

/** A transaction's place: its nonce, or the chain height after which it can never land. */
export type Place =
  | { readonly kind: 'nonce'; readonly nonce: number }
  | { readonly kind: 'expiring'; readonly blockhash: string; readonly lastHeight: number }

/** The effects that the chain predicts if the transaction landed now. */
export type Simulation =
  | {
      readonly kind: 'moves'
      readonly effects: Effects
      /**
       * Addresses besides payees and spenders that the call names, or that gain from other funds,
       * and that may receive something later; left out if the endpoint cannot show such addresses.
       */
      readonly others?: readonly string[]
      /** Contracts that the transaction calls and whose effects are not reported; absent if none exist. */
      readonly unseen?: readonly string[]
    }
  /** The transaction would be reverted and cost its fee. */
  | { readonly kind: 'fails'; readonly reason: string }
  /** The endpoint cannot simulate the transaction, or its answer is incomplete. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** Effects on the signer. */
export interface Effects {
  /** Net decrease (negative) or increase without the fee; each asset once. */
  readonly changes: readonly { readonly asset: string | null; readonly raw: bigint }[]
  /** Addresses that receive assets directly or end up with them, as far as the chain reports. */
  readonly payees: readonly string[]
  /** Allowances that the transaction grants. */
  readonly grants: readonly Grant[]
}

export interface Grant {
  readonly asset: string
  readonly spender: string
  /** The allowed amount; for an unlimited allowance, the current balance of the asset. */
  readonly raw: bigint
  /** True if the allowance covers the whole present and future balance. */
  readonly unlimited: boolean
}

/**
 * A transaction that is complete except for its place and signature. Plain data; signing it needs no further
 * query.
 */
export interface Plan {
  readonly from: string
  /** The address that the transaction names: a recipient or a contract. */
  readonly to: string
  /**
   * The called function by name and types only, because parameter names are the caller's own text;
   * absent if no function is called.
   */
  readonly called?: string
  /** The adapter's serialization of all signed fields except the place. */
  readonly unsigned: string
  /**
   * Chain, destination, token and amount, or the complete call; without fees, place and sender. Equal texts mean
   * equal payments.
   */
  readonly does: string
  /** The maximum fee in base units of the chain's coin. */
  readonly feeMaxRaw: bigint
  /**
   * The next place of `from`, counted with pending transactions. A wallet that has itself used a
   * later nonce signs with its own next nonce.
   */
  readonly place: Place
  readonly simulation: Simulation
  /** What the person who decides should know about the asset, each a clause of a sentence. */
  readonly warnings: readonly string[]
}

export interface Signed {
  /** The chain's transaction id, known before the transaction is sent. */
  readonly id: string
  /** The signed transaction in the chain's own text encoding, ready to broadcast. */
  readonly bytes: string
}

/** What is known about a signed transaction. `final`: no reorganization within the chain's depth can revert it. */
export type Fate =
  /** The transaction is in no block and no pool, so the same bytes must be sent again. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'landed'
      readonly succeeded: boolean
      readonly block: number
      readonly final: boolean
      /** The transaction's effects by the chain's record; null if the record does not show them. */
      readonly effects: Effects | null
    }
  /** The transaction can never land: another one used its nonce in a final block. */
  | { readonly kind: 'replaced' }
  /** The transaction can never land: a final block is beyond its last height, and the chain does not contain it. */
  | { readonly kind: 'expired' }

/** Why a signed transaction is replaced: to land sooner, or to be cancelled. */
export type Replacing = 'speed-up' | 'cancel'

/** Another transaction with the same nonce. */
export interface Replacement {
  readonly plan: Plan
  /** The maximum current fee of the transaction that is replaced. */
  readonly feeBeforeRaw: bigint
}

/** Foreign signatures of an address on a chain without nonces. */
export interface SignedElsewhere {
  /** The first transaction that the caller did not sign; null if the check found no such transaction. */
  readonly foreign: string | null
  /** The adapter's own marker of how far it has checked. */
  readonly seen: string
  /** At least so many transactions are not checked yet; the next call continues the check. Left out for none. */
  readonly unchecked?: number
}

export interface TokenFacts {
  readonly decimals: number
  /** The symbol that the contract claims, which may be any. Every character that is not plain is a question mark. */
  readonly symbol: string
}

/**
 * PORT: a chain with payments. In addition to `chain.ts`:
 *
 * - `plan`, `follow`, `token`, `held` and `read` change nothing. `sign` makes no network call and is pure: the
 * same plan, place and key give the same bytes.
 *
 * - `broadcast` may be called with the same bytes any number of times. It resolves when the endpoint accepted or
 * already has them; a rejection does not mean that they were not sent. `follow` decides what became of them.
 *
 * - `replaced` and `expired` are returned only for a transaction that provably never lands; in doubt the result is
 * `missing` or `waiting`.
 *
 * - `replacing` keeps everything of a signed transaction except its fees, or moves nothing; only one transaction
 * of a nonce can land. Problem `unprocessable` on chains without nonces and when the balance does not cover the
 * fee.
 *
 * - `signedElsewhere` reports foreign signatures of an address since the last call, in final blocks; signatures
 * before the first call are trusted. Null on chains where nonces reveal them.
 *
 * - An order that is invalid on the chain (address, function, amount) is Problem `bad-request`.
 */
export interface PayingChain extends Chain {
  plan(from: string, order: Order, signal: AbortSignal): Promise<Plan>
  /** Signs a plan. `key` has 32 bytes; the caller wipes it. */
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
  /** Reads the facts of a token contract. Rejects if the contract does not exist. */
  token(address: string, signal: AbortSignal): Promise<TokenFacts>
  /** Returns the token balance that an address can pay with, in base units. Rejects if the token does not exist. */
  held(token: string, address: string, signal: AbortSignal): Promise<bigint>
  /** Calls a read-only function and returns its values as JSON. */
  read(
    contract: string,
    call: ContractCall & { readonly returns: readonly string[] },
    signal: AbortSignal,
  ): Promise<readonly unknown[]>
}
