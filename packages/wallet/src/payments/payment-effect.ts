import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { EffectDetails } from '@flotilla/identity/policy'
import type { Order } from '../chain/paying-chain.ts'
import { usdOfMicro } from './amounts.ts'
import type { Assessed } from './assess-payment.ts'

/** Returns what a payment would do, for the owner's policy; its value includes the fee. Pure. */
export function paymentEffect(
  chain: ChainName,
  order: Pick<Order, 'do'>,
  { chargedMicroUsd }: Pick<Assessed, 'chargedMicroUsd'>,
): EffectDetails {
  return {
    tool: order.do === 'transfer' ? 'wallet_transfer' : 'wallet_execute',
    chain,
    usd: usdOfMicro(chargedMicroUsd),
  }
}
