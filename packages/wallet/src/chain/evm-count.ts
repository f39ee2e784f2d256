import { encodeCall } from './evm-call.ts'
import { effectsOf, gainersIn } from './evm-effects.ts'
import type { EvmLog } from './evm-effects.ts'
import { addressesIn, distinct, isTold, misreportedIn, tokensOf, unseenIn, worst } from './evm-measured.ts'
import type { Pair } from './evm-measured.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { sameEvmAddress } from './evm-address.ts'
import type { Effects, Simulation } from './paying-chain.ts'

/**
 * The maximum number of tokens that the logs of a call name, and of the sender's tokens that the call uses in other
 * contracts. A call with more of either is not assessed.
 */
const tokensMax = 24
/** The maximum number of addresses that the arguments of a call may name. */
const namedMax = 24
/** Interface identifiers of ERC-721 and ERC-1155 contracts, as `supportsInterface` of ERC-165 takes them. */
const interfaceIds = { erc721: '0x80ac58cd', erc1155: '0xd9b67a26' } as const

/** A read-only call to a contract. */
export interface Ask {
  readonly to: string
  readonly data: string
}

export type Answers<Value> =
  | { readonly kind: 'answers'; readonly values: readonly Value[] }
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * Reads contracts before and after a call that is simulated and not sent. A contract's answer is null if it is not
 * exactly one 32-byte word.
 */
export interface Readings {
  /** The maximum number of contracts used by a call that are asked for the sender's balance. */
  readonly contractsMax: number
  before(asks: readonly Ask[]): Promise<Answers<bigint | null>>
  around(asks: readonly Ask[]): Promise<Answers<Pair>>
}

/** What a call did when it was simulated or traced. */
export interface Tried {
  readonly logs: readonly EvmLog[]
  /** The contracts that the call used and that may have changed their storage; null if unknown. */
  readonly touched: readonly string[] | null
}

/**
 * Returns the effects of a call: for each token the worse of what the logs report and what the measured balances and
 * allowances show. A contract writes its own logs, and it may log nothing, less than it moves, or transfers that
 * never happened. Balances are therefore read for each contract that the call uses, even if neither the arguments of
 * the call nor a log name that contract.
 */
export async function countEffects(
  readings: Readings,
  call: EvmCallRequest,
  { logs, touched }: Tried,
): Promise<Simulation> {
  const seen = effectsOf(call.from, { logs, sentRaw: call.value })
  const [affected, named] = [tokensOf(call, seen), addressesIn(call)]
  if (affected.length > tokensMax) return tooMany(tokensMax, 'tokens')
  if (named.length > namedMax) return unknown(`the call names more than ${namedMax} addresses`)
  const used = distinct([...(call.data === '0x' ? [] : [call.to]), ...(touched ?? [])])
  if (used.length > readings.contractsMax) return tooMany(readings.contractsMax, 'contracts')
  const found = await holdingsIn(readings, call.from, distinct([...used, ...named]))
  if (found.kind === 'unknown') return found
  const hidden = found.values.filter(
    ({ address, raw }) => raw !== null && raw > 0n && !affected.includes(address),
  )
  if (hidden.length > tokensMax) return tooMany(tokensMax, 'tokens')
  const tokens = [...affected, ...hidden.map(({ address }) => address)]
  const around = await readings.around([
    ...tokens.map((to) => ({ to, ...dataOf('balanceOf(address)', [call.from]) })),
    ...named.map((one) => ({ to: call.to, ...dataOf('allowance(address,address)', [call.from, one]) })),
  ])
  if (around.kind === 'unknown') return around
  const pairs = around.values
  const held = new Map(tokens.map((token, at) => [token, pairs[at]]))
  const allowed = new Map(named.map((one, at) => [one, pairs[tokens.length + at]]))
  const effects = worst(seen, { held, allowed, token: call.to.toLowerCase() })
  const misreported = misreportedIn(seen, held).map(({ asset }) => asset)
  const silent = used.filter((one) => !isTold(one, seen) || misreported.includes(one))
  const collectibles = await collectiblesIn(
    readings,
    found.values.filter(({ address }) => silent.includes(address)),
  )
  if (collectibles.kind === 'unknown') return collectibles
  const unseen = distinct([
    ...unseenIn(call, { logs, seen, effects, held }),
    ...collectibles.values,
    ...(touched === null ? [call.to] : []),
  ])
  return {
    kind: 'moves',
    effects,
    others: othersOf(call, effects, logs),
    ...(unseen.length > 0 ? { unseen } : {}),
  }
}

interface Holding {
  readonly address: string
  /** The sender's balance; null if the contract does not report one. */
  readonly raw: bigint | null
}

async function holdingsIn(
  readings: Readings,
  from: string,
  contracts: readonly string[],
): Promise<Answers<Holding>> {
  if (contracts.length === 0) return { kind: 'answers', values: [] }
  const replies = await readings.before(
    contracts.map((to) => ({ to, ...dataOf('balanceOf(address)', [from]) })),
  )
  if (replies.kind === 'unknown') return replies
  return {
    kind: 'answers',
    values: contracts.map((address, at) => ({ address, raw: replies.values[at] ?? null })),
  }
}

/** Returns the contracts that manage collectibles, of which a balance does not show which ones the sender has. */
async function collectiblesIn(readings: Readings, holdings: readonly Holding[]): Promise<Answers<string>> {
  const possible = holdings.filter(({ raw }) => raw !== 0n)
  if (possible.length === 0) return { kind: 'answers', values: [] }
  const replies = await readings.before(
    possible.map(({ address, raw }) => ({
      to: address,
      // An ERC-1155 contract reports no balance over all of its items.
      ...dataOf('supportsInterface(bytes4)', [raw === null ? interfaceIds.erc1155 : interfaceIds.erc721]),
    })),
  )
  if (replies.kind === 'unknown') return replies
  return {
    kind: 'answers',
    values: possible.flatMap(({ address }, at) => (replies.values[at] === 1n ? [address] : [])),
  }
}

/** Returns addresses that a call names or that gain from it, without its payees, spenders and the tokens involved. */
function othersOf(call: EvmCallRequest, effects: Effects, logs: readonly EvmLog[]): readonly string[] {
  const listed = [
    call.to,
    ...effects.payees,
    ...effects.grants.flatMap(({ asset, spender }) => [asset, spender]),
    ...effects.changes.flatMap(({ asset, raw }) => (asset !== null && raw < 0n ? [asset] : [])),
  ]
  return distinct([...addressesIn(call), ...gainersIn(call.from, logs)]).filter(
    (one) => !listed.some((other) => sameEvmAddress(one, other)),
  )
}

function dataOf(name: string, args: readonly string[]): { readonly data: string } {
  return { data: encodeCall({ function: name, args }).data }
}

function tooMany(most: number, what: string) {
  return unknown(`the call uses more than ${most} ${what}`)
}

function unknown(reason: string) {
  return { kind: 'unknown', reason } as const
}
