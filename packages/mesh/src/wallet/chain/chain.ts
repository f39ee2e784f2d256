import type { ChainName } from '@flotilla/protocol/wallet-api'

/**
 * PORT: one chain, through whoever the owner trusts to speak for it.
 *
 * - Before anything is told, the far end has said which chain it is, in this very call; one that says another is asked
 *   nothing more.
 * - An answer is bounded in bytes and in time. What is not of the form that was asked for is no answer.
 * - Rejects with the signal's reason, or with the Problems `address-refused` where the outbound filter lets nobody go,
 *   `upstream-failed`, `upstream-timeout`.
 */
export interface Chain {
  readonly name: ChainName
  /** Base units of the chain's own coin that each address has as of the newest block, in the order of the addresses. */
  balances(addresses: readonly string[], signal: AbortSignal): Promise<readonly bigint[]>
}
