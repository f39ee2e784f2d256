import { Problem } from '@flotilla/protocol/problem'
import { chainNames, chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import type { PaymentView } from '@flotilla/protocol/wallet-payments'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { PayingChain, Replacement, Replacing } from '../chain/paying-chain.ts'
import { microUsdOf } from '../prices/agree-on-price.ts'
import type { PriceOf } from '../prices/asset-prices.ts'
import { usdOfMicro } from './amounts.ts'
import type { FollowPayments } from './follow-payments.ts'
import { hasEnded } from './intent-record.ts'
import type { IntentRecord } from './intent-record.ts'
import type { IntentTable } from './intent-table.ts'
import { viewOf } from './payment-view.ts'
import type { ReplacementTable } from './replacement-table.ts'
import { requireGoing } from './sign-payment.ts'
import type { Signer } from './sign-payment.ts'

const feeTimesMax = BigInt(paymentLimits.replacedFeeTimesMax)
const actions = { 'speed-up': 'wallet.sped-up', cancel: 'wallet.cancelling' } as const

export type ReplacePayment = ReturnType<typeof createReplacePayment>

/**
 * Signs a stuck payment again with its nonce, at its owner's request: with a higher fee, or as a transaction that
 * moves nothing. Only one transaction of that nonce lands. The additional fee is counted; no limit is checked,
 * because an owner could raise the limits anyway. Problems `denied`, `not-found`, `conflict`, `unprocessable`,
 * `wallet-stopped`, `no-price`, and those of the chain.
 */
export function createReplacePayment({
  guard,
  table,
  replacements,
  ...deps
}: Pick<Kernel, 'guard' | 'journal' | 'database'> & {
  readonly table: IntentTable
  readonly replacements: ReplacementTable
  readonly chain: (name: ChainName) => PayingChain
  readonly signerOf: (agentId: string, chain: ChainName) => Signer
  readonly priceOf: PriceOf
  readonly follow: Pick<FollowPayments, 'send'>
}) {
  /** Returns a payment that no block is known to contain. Throws the Problems `not-found` and `conflict`. */
  function requireWaiting(id: string): IntentRecord & { readonly chain: ChainName } {
    const intent = table.find(id)
    const chain = chainNames.find((name) => name === intent?.chain)
    if (intent === null || chain === undefined) {
      throw new Problem('not-found', {
        detail: `there is no payment ${id}`,
        repair: 'See the ids of payments with flotilla wallet history.',
      })
    }
    if (hasEnded(intent.state) || intent.state === 'landed') {
      throw new Problem('conflict', {
        detail: `the payment ${id} is ${intent.state}, so it can no longer be replaced`,
        repair: 'See its result with flotilla wallet history.',
      })
    }
    return { ...intent, chain }
  }

  function requireWithin(intent: IntentRecord, { plan, feeBeforeRaw }: Replacement, how: Replacing): void {
    const earlier = replacements.supersededBy(intent.id)
    const refuse = (detail: string, repair: string): never => {
      throw new Problem('conflict', { detail, repair })
    }
    if (how === 'speed-up' && intent.cancelFeeMicroUsd !== null) {
      refuse(
        `the payment ${intent.id} is already being cancelled`,
        `Cancel it again for a higher fee: flotilla wallet cancel ${intent.id}`,
      )
    }
    if (earlier.length >= paymentLimits.replacementsMax) {
      refuse(
        `the payment ${intent.id} was already signed ${earlier.length + 1} times, the maximum`,
        'Wait until the chain confirms one of them (flotilla wallet history).',
      )
    }
    if (plan.feeMaxRaw > (earlier[0]?.feeRaw ?? feeBeforeRaw) * feeTimesMax) {
      refuse(
        `the fee would be more than ${feeTimesMax} times the first fee of the payment`,
        'Wait until fees are lower.',
      )
    }
  }

  return async (
    caller: Caller,
    { id, how }: { readonly id: string; readonly how: Replacing },
    signal: AbortSignal,
  ): Promise<PaymentView> => {
    guard(caller, { do: 'manage-credentials' })
    requireGoing(table)
    const intent = requireWaiting(id)
    const { chain: name, sender: from, place, signedBytes } = intent
    const signer = deps.signerOf(intent.agentId, name)
    const replacement = await deps.chain(name).replacing({ from, place, bytes: signedBytes }, how, signal)
    const attoUsd = await deps.priceOf({ chain: name, token: null }, signal)
    const usdOf = (raw: bigint): number => microUsdOf(raw, { decimals: chains[name].decimals, attoUsd })
    const after = deps.database.transaction(() => {
      requireGoing(table)
      const before = requireWaiting(id)
      if (before.txId !== intent.txId) {
        throw new Problem('conflict', { detail: `the payment ${id} was signed again by another request` })
      }
      const { plan, feeBeforeRaw } = replacement
      requireWithin(before, replacement, how)
      const signed = signer.withKey((key) => deps.chain(name).sign(plan, place, key))
      const feeMicroUsd = usdOf(plan.feeMaxRaw)
      const more = Math.max(0, feeMicroUsd - usdOf(feeBeforeRaw))
      replacements.supersede(before, feeBeforeRaw)
      const signedAgain: IntentRecord = {
        ...before,
        txId: signed.id,
        signedBytes: signed.bytes,
        cancelFeeMicroUsd: how === 'cancel' ? feeMicroUsd : null,
        chargedMicroUsd: before.chargedMicroUsd + more,
        note: '',
      }
      table.update(signedAgain)
      deps.journal.append({
        actor: actorOf(caller),
        action: actions[how],
        subject: id,
        detail: {
          agent: before.agentId,
          transaction: signed.id,
          instead_of: before.txId,
          fee_usd: usdOfMicro(feeMicroUsd),
          counted_usd: usdOfMicro(signedAgain.chargedMicroUsd),
        },
      })
      return signedAgain
    })
    return viewOf((await deps.follow.send(after, signal).catch(() => null)) ?? after)
  }
}
