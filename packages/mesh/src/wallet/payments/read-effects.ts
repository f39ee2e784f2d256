import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { plainLine } from '../chain/json-rpc.ts'
import type { Effects, Order, Plan } from '../chain/paying-chain.ts'
import { knownTokensOf } from '../known-tokens.ts'
import { isSameAddress } from './judge-payees.ts'
import { orderedAmounts } from './ordered-amounts.ts'
import type { Ordered } from './ordered-amounts.ts'

/** Others whom a call may pay or empower; more is not understood. */
const payeesMax = 20

/** What an order does by its simulation. Null where it is not known and the owner let it be. Problems `would-fail`, `not-simulated`. Pure. */
export function readEffects(
  plan: Plan,
  { chain, order, allowed }: { chain: ChainName; order: Order; allowed: readonly string[] },
): Effects | null {
  const { simulation } = plan
  if (simulation.kind === 'moves') return simulation.effects
  if (simulation.kind === 'fails') throw new Problem('would-fail', { detail: simulation.reason })
  if (order.do === 'transfer' && order.asset === null) {
    // It moves its amount and nothing else of whoever signs.
    return { changes: [{ asset: null, raw: -order.raw }], payees: [], grants: [] }
  }
  const name =
    order.do === 'call'
      ? `${chain}:${order.contract}:${calledIn(plan, order).replaceAll(' ', '')}`
      : `${chain}:${order.asset ?? ''}:transfer(address,uint256)`
  if (allowed.some((one) => isSameCall(one, name))) return null
  throw new Problem('not-simulated', { detail: `${name}: ${simulation.reason}` })
}

/** In the chain's own words; those of an agent could say anything to whoever reads them. */
export function calledIn({ called }: Plan, order: Extract<Order, { do: 'call' }>): string {
  return called ?? plainLine(order.call.function)
}

/** What an order says by itself of amounts; no less than that counts. Pure. */
export function orderedBy(plan: Plan, order: Order): Ordered {
  return orderedAmounts(order, { from: plan.from, called: order.do === 'call' ? calledIn(plan, order) : '' })
}

export interface Payees {
  /** All, each once. */
  readonly paid: readonly string[]
  /** Of them, those that it only names. */
  readonly others: readonly string[]
}

/** Whom an order pays, empowers or names. Problem `not-simulated` for more than anybody could look through. Pure. */
export function payeesOf(chain: ChainName, { order, plan, effects }: Understood): Payees {
  const ordered = orderedBy(plan, order)
  const direct = [
    ...ordered.moves.map(({ to }) => to),
    ...ordered.lets.map(({ spender }) => spender),
    ...(effects?.payees ?? []),
    ...(effects?.grants ?? []).map(({ spender }) => spender),
  ]
  // Tokens that everybody knows do with nothing what they please.
  const told = [...direct, ...Object.values(knownTokensOf(chain))]
  const others = (plan.simulation.kind === 'moves' ? (plan.simulation.others ?? []) : []).filter(
    (address) => !told.some((one) => isSameAddress(one, address)),
  )
  const paid = [...direct, ...others].filter(
    (one, at, all) => all.findIndex((other) => isSameAddress(one, other)) === at,
  )
  if (paid.length > payeesMax) {
    throw new Problem('not-simulated', {
      detail: `it pays, empowers or names more than ${payeesMax} addresses`,
    })
  }
  return { paid, others }
}

/** An order, what the chain says of it, and what of that is understood. */
export interface Understood {
  readonly order: Order
  readonly plan: Plan
  /** Null where nobody can say, and the owner let that call be made all the same. */
  readonly effects: Effects | null
}

/** The case of an address is its checksum's, the one of a function its own. */
function isSameCall(one: string, other: string): boolean {
  const parts = (text: string): readonly string[] => /^([^:]*:[^:]*):(.*)$/.exec(text) ?? []
  const [[, where, what], [, otherWhere, otherWhat]] = [parts(one), parts(other)]
  return where !== undefined && where.toLowerCase() === otherWhere?.toLowerCase() && what === otherWhat
}
