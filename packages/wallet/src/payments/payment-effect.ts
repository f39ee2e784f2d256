import { createHash } from 'node:crypto'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { EffectDetails } from '@flotilla/identity/policy'
import { addressKey } from '../chain/address-key.ts'
import type { Order } from '../chain/paying-chain.ts'
import { usdOfMicro } from './amounts.ts'

/** The contract of a payment of the chain's coin, as rules name it. */
const coin = 'coin'

/** What is known of a payment when it is decided, and again from its approval. */
export interface DecidedPayment {
  readonly chain: ChainName
  readonly order: Order
  /** The value with the fee. */
  readonly chargedMicroUsd: number
  readonly payees: readonly string[]
  /** The complete payment as text; null in approvals of earlier releases. */
  readonly does: string | null
}

/** Returns what a payment would do, for the owner's policy; its value includes the fee. Pure. */
export function paymentEffect({
  chain,
  order,
  chargedMicroUsd,
  payees,
  does,
}: DecidedPayment): EffectDetails {
  const isTransfer = order.do === 'transfer'
  return {
    tool: isTransfer ? 'wallet_transfer' : 'wallet_execute',
    chain,
    usd: usdOfMicro(chargedMicroUsd),
    contract: addressKey(contractOf(order) ?? coin),
    payees: [...new Set(payees.map(addressKey))].toSorted(),
    ...(isTransfer ? {} : { call: does === null ? null : createHash('sha256').update(does).digest('hex') }),
  }
}

/** Returns the called contract, for a token transfer the token's; null for a transfer of the coin. Pure. */
export function contractOf(order: Order): string | null {
  return order.do === 'call' ? order.contract : order.asset
}
