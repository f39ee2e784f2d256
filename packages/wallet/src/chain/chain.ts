import type { ChainName } from '@flotilla/protocol/wallet-api'

/**
 * PORT: one chain, through the RPC endpoint that the owner trusts.
 *
 * - Each call first checks which chain the endpoint serves; an endpoint of another chain gets no further request.
 *
 * - Answers are limited in bytes and time. An answer that does not match the schema is rejected.
 *
 * - Rejects with the signal's reason, or with the Problems `address-refused` if the egress filter blocks the
 * address, `upstream-failed`, `upstream-timeout`.
 */
export interface Chain {
  readonly name: ChainName
  /** Returns each address's balance in base units of the chain's own coin at the newest block, in the same order. */
  balances(addresses: readonly string[], signal: AbortSignal): Promise<readonly bigint[]>
}
