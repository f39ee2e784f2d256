import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { plainLine } from '../chain/json-rpc.ts'
import type { Effects, Order, Plan } from '../chain/paying-chain.ts'
import { knownTokensOf } from '../known-tokens.ts'
import { isSameAddress } from '../chain/address-key.ts'
import { orderedAmounts } from './ordered-amounts.ts'
import type { Ordered } from './ordered-amounts.ts'

/** Maximum number of other addresses that a call may pay or empower; a call with more is not assessed. */
const payeesMax = 20

/**
 * Returns the effects of an order by its simulation. Null if they are unknown and the owner allowed
 * that. Problems `would-fail`, `not-simulated`. Pure.
 */
export function readEffects(
  plan: Plan,
  { chain, order, allowed }: { chain: ChainName; order: Order; allowed: readonly string[] },
): Effects | null {
  const { simulation } = plan
  if (simulation.kind === 'moves') return simulation.effects
  if (simulation.kind === 'fails') throw new Problem('would-fail', { detail: simulation.reason })
  if (order.do === 'transfer' && order.asset === null) {
    // A transfer of the coin moves the ordered amount and no other asset of the signer.
    return { changes: [{ asset: null, raw: -order.raw }], payees: [], grants: [] }
  }
  const name =
    order.do === 'call'
      ? `${chain}:${order.contract}:${calledIn(plan, order).replaceAll(' ', '')}`
      : `${chain}:${order.asset ?? ''}:transfer(address,uint256)`
  if (allowed.some((one) => isSameCall(one, name))) return null
  throw new Problem('not-simulated', { detail: `${name}: ${simulation.reason}` })
}

/** Returns the function's name by the chain's plan if known, because the agent's own text could mislead a reader. */
export function calledIn({ called }: Plan, order: Extract<Order, { do: 'call' }>): string {
  return called ?? plainLine(order.call.function)
}

/** Returns the amounts that an order itself states; at least these amounts count. Pure. */
export function orderedBy(plan: Plan, order: Order): Ordered {
  return orderedAmounts(order, { from: plan.from, called: order.do === 'call' ? calledIn(plan, order) : '' })
}

export interface Payees {
  /** All payees of the order, each once. */
  readonly paid: readonly string[]
  /** Addresses that the order only names. */
  readonly others: readonly string[]
}

/**
 * Returns addresses that an order pays, empowers or names. Problem `not-simulated` for more than a
 * person could review. Pure.
 */
export function payeesOf(chain: ChainName, { order, plan, effects }: Understood): Payees {
  const ordered = orderedBy(plan, order)
  const direct = [
    ...ordered.moves.map(({ to }) => to),
    ...ordered.lets.map(({ spender }) => spender),
    ...(effects?.payees ?? []),
    ...(effects?.grants ?? []).map(({ spender }) => spender),
  ]
  // Well-known tokens have fixed behavior, so their addresses do not count as payees.
  const shown = [...direct, ...Object.values(knownTokensOf(chain))]
  const others = (plan.simulation.kind === 'moves' ? (plan.simulation.others ?? []) : []).filter(
    (address) => !shown.some((one) => isSameAddress(one, address)),
  )
  const paid = [...direct, ...others].filter(
    (one, at, all) => all.findIndex((other) => isSameAddress(one, other)) === at,
  )
  if (paid.length > payeesMax) {
    throw new Problem('not-simulated', {
      detail: `the call pays, gives permissions to, or names more than ${payeesMax} addresses`,
    })
  }
  return { paid, others }
}

/** An order, the chain's plan for the order, and the effects derived from both. */
export interface Understood {
  readonly order: Order
  readonly plan: Plan
  /** The effects on the signer; null if they are unknown and the owner allowed the call anyway. */
  readonly effects: Effects | null
}

/** True if both texts are the same call. The case of an address is only a checksum; a function name's case counts. */
function isSameCall(one: string, other: string): boolean {
  const parts = (text: string): readonly string[] => /^([^:]*:[^:]*):(.*)$/.exec(text) ?? []
  const [[, where, what], [, otherWhere, otherWhat]] = [parts(one), parts(other)]
  return where !== undefined && where.toLowerCase() === otherWhere?.toLowerCase() && what === otherWhat
}
