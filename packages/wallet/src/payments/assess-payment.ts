import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Settings } from '@flotilla/foundation/config'
import type { Effects, Order, PayingChain, Plan } from '../chain/paying-chain.ts'
import type { PriceOf } from '../prices/asset-prices.ts'
import { approvalReasons } from './approval-reasons.ts'
import { paymentLines, paymentSummary } from './describe-payment.ts'
import type { DescribedPayment } from './describe-payment.ts'
import { atLeastOrdered } from './ordered-amounts.ts'
import type { Ordered } from './ordered-amounts.ts'
import { orderedBy, payeesOf, readEffects } from './read-effects.ts'
import type { Understood } from './read-effects.ts'
import { imitationBy, worthOf } from './value-assets.ts'
import type { ValuedOn } from './value-assets.ts'

/** How many known addresses a new address is compared with, because a similar address may be a forgery. */
const comparedMax = 1000

/** What a payment does, what it counts for, and why a person must approve it. */
export interface Assessed extends Understood {
  readonly payees: readonly string[]
  /**
   * The value of everything that could leave by the payment with its fee, in millionths of a US dollar; never less
   * than the ordered amount.
   */
  readonly chargedMicroUsd: number
  /** The part of `chargedMicroUsd` that is the fee. */
  readonly feeMicroUsd: number
  /** A description of the payment in one line. */
  readonly summary: string
  /** The description for the person who approves, one sentence per line. */
  readonly lines: readonly string[]
  readonly feeLine: string
  /** Why a person must approve the payment; empty if no approval is needed. */
  readonly reasons: readonly string[]
}

export type AssessPayment = (
  request: { readonly chain: ChainName; readonly from: string; readonly order: Order },
  signal: AbortSignal,
) => Promise<Assessed>

/**
 * Returns a function that simulates an order and values it. Problems `would-fail`, `not-simulated`,
 * `no-price`, `bad-request`, and those of the chain's port.
 */
export function createAssessPayment(deps: {
  readonly chain: (name: ChainName) => PayingChain
  readonly priceOf: PriceOf
  readonly payees: {
    isKnownPayee(chain: string, address: string): boolean
    knownPayees(chain: string, limit: number): readonly string[]
  }
  readonly settings: () => Settings['wallet']
}): AssessPayment {
  const { priceOf, payees } = deps
  return async ({ chain: name, from, order }, signal) => {
    const chain = deps.chain(name)
    const settings = deps.settings()
    const plan = await chain.plan(from, order, signal)
    const seen = readEffects(plan, { chain: name, order, allowed: settings.allow_unsimulated })
    const { effects: counted, short } = atLeastOrdered(
      seen,
      await orderedOfTokens(chain, orderedBy(plan, order), signal),
    )
    // If the call could not be simulated, its effects stay unknown, although the ordered amounts are counted.
    const effects = seen === null ? null : counted
    const on = { name, chain, priceOf, ownNames: settings.known_addresses }
    const valued = await valueMoves(on, { plan, counted }, signal)
    const payment: DescribedPayment = {
      chain: name,
      from,
      order,
      plan,
      effects,
      short: seen === null ? [] : short,
      payees: payeesOf(name, { order, plan, effects }),
      ...valued,
      ordered: order.do === 'transfer' ? await worthOf(on, order, signal) : null,
      imitations: await imitationsIn(on, { ...valued, effects }, signal),
      compared: { names: settings.known_addresses, paid: payees.knownPayees(name, comparedMax) },
    }
    return {
      order,
      plan,
      effects,
      payees: payment.payees.paid,
      chargedMicroUsd: payment.chargedMicroUsd,
      feeMicroUsd: payment.fee.microUsd,
      summary: paymentSummary(payment),
      lines: paymentLines(payment),
      feeLine: `The fee is at most ${payment.fee.words}.`,
      reasons: approvalReasons(payment, {
        limitUsd: settings.approve_above_usd,
        isKnownPayee: (address) => payees.isKnownPayee(name, address),
      }),
    }
  }
}

/** Returns the ordered amounts without allowances of contracts that are not tokens, because those grant none. */
async function orderedOfTokens(
  chain: PayingChain,
  { moves, lets }: Ordered,
  signal: AbortSignal,
): Promise<Ordered> {
  const kept = await Promise.all(
    lets.map(async (one) => {
      try {
        await chain.token(one.asset, signal)
        return [one]
      } catch (error) {
        if (error instanceof Problem && error.code === 'bad-request') return []
        throw error
      }
    }),
  )
  return { moves, lets: kept.flat() }
}

/** Returns the value of everything that counts: what leaves, what may be taken later, and the fee. */
async function valueMoves(
  on: ValuedOn,
  { plan, counted }: { readonly plan: Plan; readonly counted: Effects },
  signal: AbortSignal,
): Promise<Pick<DescribedPayment, 'leaving' | 'grants' | 'fee' | 'chargedMicroUsd'>> {
  const changes = counted.changes.filter(({ raw }) => raw < 0n)
  const leaving = await Promise.all(
    changes.map(({ asset, raw }) => worthOf(on, { asset, raw: -raw }, signal)),
  )
  const grants = await Promise.all(
    counted.grants.map(async (grant) => ({ grant, ...(await worthOf(on, grant, signal)) })),
  )
  const fee = await worthOf(on, { asset: null, raw: plan.feeMaxRaw }, signal)
  const sum = [...leaving, ...grants, fee].reduce((total, { microUsd }) => total + microUsd, 0)
  // Integers; beyond the exact range of a float the amount exceeds every limit.
  const chargedMicroUsd = Math.min(sum, Number.MAX_SAFE_INTEGER)
  return { leaving, grants, fee, chargedMicroUsd }
}

/** Returns warnings about tokens that leave, arrive or may be taken, and whose symbol imitates another symbol. */
async function imitationsIn(
  on: ValuedOn,
  {
    leaving,
    grants,
    effects,
  }: Pick<DescribedPayment, 'leaving' | 'grants'> & { readonly effects: Effects | null },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const symbols = new Map([...leaving, ...grants].map(({ asset, symbol }) => [asset, symbol]))
  for (const { asset, raw } of effects?.changes ?? []) {
    if (raw <= 0n || asset === null || symbols.has(asset)) continue
    // Non-fungible tokens have no decimals.
    const facts = await on.chain.token(asset, signal).catch(() => signal.throwIfAborted())
    if (facts) symbols.set(asset, facts.symbol)
  }
  return [...symbols].flatMap(([token, symbol]) => {
    const imitation = token === null ? null : imitationBy(on, { token, symbol })
    return imitation === null ? [] : [imitation]
  })
}
