import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { plainLine } from '../chain/json-rpc.ts'
import type { Grant, Order } from '../chain/paying-chain.ts'
import { usdOfMicro } from './amounts.ts'
import { isSameAddress } from '../chain/address-key.ts'
import { describeAddress } from './judge-payees.ts'
import { calledIn } from './read-effects.ts'
import type { Payees, Understood } from './read-effects.ts'
import type { Worth } from './value-assets.ts'

/** What a description of a payment for a person is made from. */
export interface DescribedPayment extends Understood {
  readonly chain: ChainName
  readonly from: string
  /** Assets of which the simulation showed less than was ordered; null is the coin. Absent or empty without any. */
  readonly short?: readonly (string | null)[]
  readonly payees: Payees
  readonly leaving: readonly Worth[]
  /** What a transfer orders; null for a call. */
  readonly ordered: Worth | null
  readonly grants: readonly (Worth & { readonly grant: Grant })[]
  readonly fee: Worth
  readonly chargedMicroUsd: number
  /** Warnings about tokens that imitate others. */
  readonly imitations: readonly string[]
  readonly compared: Parameters<typeof describeAddress>[1]
}

/** Describes a payment in one line. Pure. */
export function paymentSummary(payment: DescribedPayment): string {
  const { chain, order, plan, effects, leaving, grants } = payment
  return summaryOf(chain, order, {
    more: moreThanOrdered(payment),
    called: order.do === 'call' ? calledIn(plan, order) : '',
    isKnown: effects !== null,
    leaving: leaving.map(({ words }) => words),
    letting: grants.map(({ grant, words }) => lettingWords(grant, words)),
  })
}

/** Describes a payment for the person who approves, one sentence per line. Pure. */
export function paymentLines(payment: DescribedPayment): readonly string[] {
  const { chain, from, order, plan, chargedMicroUsd, imitations, compared } = payment
  return [
    `On ${chain}, from ${from}.`,
    order.do === 'transfer'
      ? `To ${describeAddress(order.to, compared).words}.`
      : `Calls ${calledIn(plan, order)} of ${describeAddress(order.contract, compared).words} with ${shortArgs(order)}.`,
    ...moreThanOrderedLines(payment),
    ...movesLines(payment),
    ...grantLines(payment),
    ...payeeLines(payment),
    ...imitations.map((imitation) => `WARNING: ${imitation}.`),
    ...plan.warnings.map((warning) => `Note that ${warning}.`),
    `The payment counts for ${usdOfMicro(chargedMicroUsd)} USD against the limits of the agent.`,
  ]
}

/** Returns what a transfer orders if other amounts may leave, such as all that an address has of a silent token. */
function moreThanOrdered({ ordered, leaving }: DescribedPayment): Worth | null {
  if (ordered === null || leaving.length === 0) return null
  // Addresses of tokens may be in another case.
  const isOrdered = leaving.some(({ words }) => words.toLowerCase() === ordered.words.toLowerCase())
  return isOrdered ? null : ordered
}

function moreThanOrderedLines(payment: DescribedPayment): readonly string[] {
  const ordered = moreThanOrdered(payment)
  return ordered === null ? [] : [`Ordered is ${ordered.words}; the token may take another amount.`]
}

function movesLines({ chain, leaving, effects, plan }: DescribedPayment): readonly string[] {
  const gained = (effects?.changes ?? []).filter(({ raw }) => raw > 0n)
  const { simulation } = plan
  return [
    ...(leaving.length === 0 ? [] : [`Leaves the address: ${leaving.map(({ words }) => words).join('; ')}.`]),
    ...(effects === null
      ? [
          `The other effects of the payment are unknown: ${simulation.kind === 'unknown' ? simulation.reason : ''}.`,
        ]
      : leaving.length === 0
        ? ['Nothing leaves except the fee.']
        : []),
    ...(gained.length === 0
      ? []
      : [
          `Comes in: ${gained.map(({ asset, raw }) => `${raw} base units of ${asset ?? chains[chain].coin}`).join('; ')}.`,
        ]),
  ]
}

function grantLines({ grants, compared }: DescribedPayment): readonly string[] {
  return grants.map(({ grant, words }) =>
    grant.unlimited
      ? `${describeAddress(grant.spender, compared).words} may take ALL of the token ${grant.asset} from then on, now and later; the address has ${words}.`
      : `${describeAddress(grant.spender, compared).words} may take ${words} from then on.`,
  )
}

function payeeLines({ order, payees: { paid, others }, compared }: DescribedPayment): readonly string[] {
  return paid
    .filter((address) => !isSameAddress(address, order.do === 'transfer' ? order.to : order.contract))
    .map((address) => {
      const { words } = describeAddress(address, compared)
      return others.includes(address)
        ? `The call also names ${words}, which may receive something from it.`
        : `The call also pays ${words}, or gives them permissions.`
    })
}

/** How much of the arguments of a contract call the description of a payment shows, in characters. */
const argsMaxChars = 500

function shortArgs(order: Extract<Order, { do: 'call' }>): string {
  // The arguments are untrusted text of an agent.
  const text = JSON.stringify(order.call.args)
  return `${plainLine(text, argsMaxChars)}${text.length > argsMaxChars ? '…' : ''}`
}

/** Returns the words for an allowance. Summaries contain these, because assets that stay now may be taken later. */
function lettingWords({ spender, asset, unlimited }: Grant, amount: string): string {
  return `lets ${spender} take ${unlimited ? `ALL of the token ${asset}` : amount}`
}

function summaryOf(
  chain: ChainName,
  order: Order,
  {
    called: what,
    more,
    isKnown,
    leaving,
    letting,
  }: {
    readonly called: string
    readonly more: Worth | null
    readonly isKnown: boolean
    readonly leaving: readonly string[]
    readonly letting: readonly string[]
  },
): string {
  const moved = leaving.join(' and ')
  const rest = isKnown ? '' : '; its other effects are unknown'
  if (order.do === 'transfer') {
    const paid =
      more === null
        ? `pay ${moved || 'only its fee'} to ${order.to} on ${chain}`
        : `pay ${more.words} to ${order.to} on ${chain}, for which ${moved} may leave`
    return `${[paid, ...letting].join(', and ')}${rest}`
  }
  const does = [...(moved === '' ? [] : [`moves ${moved}`]), ...letting]
  const nothing = isKnown ? ['moves only its fee'] : []
  const which = (does.length === 0 ? nothing : does).join(', and ')
  const called = `call ${plainLine(what, 100)} of ${order.contract} on ${chain}`
  return `${called}${which === '' ? '' : `, which ${which}`}${rest}`
}
