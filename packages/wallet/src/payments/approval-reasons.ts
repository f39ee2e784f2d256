import { chains } from '@flotilla/protocol/wallet-api'
import type { DescribedPayment } from './describe-payment.ts'
import { describeAddress } from './judge-payees.ts'

/** Returns the reasons why a person must approve the payment; empty if no approval is needed. Pure. */
export function approvalReasons(
  payment: DescribedPayment,
  {
    limitUsd,
    isKnownPayee,
  }: { readonly limitUsd: number; readonly isKnownPayee: (address: string) => boolean },
): readonly string[] {
  const { payees, compared, grants, effects, imitations, chargedMicroUsd } = payment
  const first = payees.paid.filter(
    (address) => !describeAddress(address, compared).isNamed && !isKnownPayee(address),
  )
  return [
    ...(chargedMicroUsd > limitUsd * 1_000_000 ? [`the payment counts for more than ${limitUsd} USD`] : []),
    ...first.map((address) => `${address} was never paid before`),
    ...(grants.some(({ grant }) => grant.unlimited)
      ? ['the payment allows another address to take all of a token']
      : []),
    ...(effects === null ? ['the effects of the payment are unknown'] : []),
    ...hiddenWords(payment),
    ...imitations,
  ]
}

/** Returns warnings about effects that a simulation does not show. */
function hiddenWords({ chain, short = [], plan: { simulation } }: DescribedPayment): readonly string[] {
  const unseen = simulation.kind === 'moves' ? (simulation.unseen ?? []) : []
  return [
    ...short.map(
      (asset) => `the simulation shows a smaller amount of ${asset ?? chains[chain].coin} than requested`,
    ),
    ...unseen.map((address) => `the contract ${address} does not report what the call does there`),
  ]
}
