import { unlimitedFrom } from './evm-effects.ts'
import type { EvmLog } from './evm-effects.ts'
import { sameEvmAddress } from './evm-address.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import type { Effects, Grant } from './paying-chain.ts'

/** A word of at least this value counts as an address. Amounts are smaller; a smaller address has no findable key. */
const addressFrom = 2n ** 96n
/** The length of a function selector in hexadecimal digits. */
const selectorChars = 8
/** The selector of `approve(address,uint256)`. */
export const approveSelector = '0x095ea7b3'
/**
 * Token functions whose arguments state the amount: `transfer`, `transferFrom`, `approve`, `increaseAllowance`.
 */
const amountSelectors = ['0xa9059cbb', '0x23b872dd', approveSelector, '0x39509351']
/** The maximum depth of nested calls that are decoded. Deeper ones are detected only by the assets that they move. */
const nestedMax = 4

/** A token's value before and after a call; null if the token does not report it. */
export interface Pair {
  readonly before: bigint | null
  readonly after: bigint | null
}

export interface Measured {
  /** Balances by token, in lower case. */
  readonly held: ReadonlyMap<string, Pair | undefined>
  /** Allowances of `token` by spender. */
  readonly allowed: ReadonlyMap<string, Pair | undefined>
  readonly token: string
}

/**
 * Combines logs and measured balances and allowances. For each asset the larger loss counts, and for each spender the
 * larger allowance. A balance that is unknown after the call counts as lost. Pure.
 */
export function worst(seen: Effects, { held, allowed, token }: Measured): Effects {
  const changes = new Map(seen.changes.map(({ asset, raw }) => [asset, raw]))
  for (const [asset, pair] of held) {
    const change = changeOf(pair)
    const logged = changes.get(asset)
    if (change !== null) changes.set(asset, logged === undefined || change < logged ? change : logged)
  }
  const grants = new Map(seen.grants.map((grant) => [`${grant.asset} ${grant.spender}`, grant]))
  for (const [spender, { before, after }] of both(allowed)) {
    if (after <= before) continue
    const logged = grants.get(`${token} ${spender}`)
    grants.set(`${token} ${spender}`, {
      asset: token,
      spender,
      raw: logged === undefined || after > logged.raw ? after : logged.raw,
      unlimited: after >= unlimitedFrom.uint256 || (logged?.unlimited ?? false),
    })
  }
  const mostOf = ({ asset, raw }: Grant): bigint => {
    const { before = null, after = null } = held.get(asset) ?? {}
    return before === null || after === null ? raw : before > after ? before : after
  }
  return {
    payees: seen.payees,
    changes: [...changes].map(([asset, raw]) => ({ asset, raw })).filter(({ raw }) => raw !== 0n),
    grants: [...grants.values()].map((grant) => (grant.unlimited ? { ...grant, raw: mostOf(grant) } : grant)),
  }
}

/** Returns the change of a balance; all of it if it is unknown afterwards, null if it was unknown before. */
function changeOf({ before = null, after = null }: Partial<Pair> = {}): bigint | null {
  return before === null ? null : (after ?? 0n) - before
}

/** True if the logs show that this contract moved tokens or changed an allowance. Pure. */
export function isTold(contract: string, { changes, grants }: Effects): boolean {
  return [...changes, ...grants].some(({ asset }) => asset !== null && sameEvmAddress(asset, contract))
}

/**
 * Returns the assets whose balance fell by more, or rose by less, than the logs report, each with its real change.
 * Pure.
 */
export function misreportedIn(
  { changes }: Effects,
  held: Measured['held'],
): readonly { readonly asset: string; readonly change: bigint }[] {
  const logged = new Map(changes.map(({ asset, raw }) => [asset, raw]))
  return [...held].flatMap(([asset, pair]) => {
    const change = changeOf(pair)
    return change === null || change >= (logged.get(asset) ?? 0n) ? [] : [{ asset, change }]
  })
}

/**
 * Returns contracts that do not report what a call does there: tokens that lose more than they log in a call of
 * another contract, tokens whose balance is unknown afterwards, and a called contract that shows nothing at all. A
 * token that is called itself shows its loss in its balance and its recipient in the arguments. Pure.
 */
export function unseenIn(
  call: Pick<EvmCallRequest, 'to' | 'data'>,
  {
    logs,
    seen,
    effects,
    held,
  }: {
    readonly logs: readonly EvmLog[]
    readonly seen: Effects
    readonly effects: Effects
    readonly held: Measured['held']
  },
): readonly string[] {
  const lost = misreportedIn(seen, held).filter(
    ({ asset, change }) =>
      change < 0n && (held.get(asset)?.after === null || !sameEvmAddress(asset, call.to)),
  )
  const isOrdered = amountSelectors.includes(call.data.slice(0, 10))
  const isMute = call.data !== '0x' && logs.length === 0 && !isOrdered && !isTold(call.to, effects)
  return [...lost.map(({ asset }) => asset), ...(isMute ? [call.to] : [])]
}

/** Returns the pairs whose two values are known. */
function both(pairs: ReadonlyMap<string, Pair | undefined>) {
  return [...pairs].flatMap(([key, { before = null, after = null } = {}]) =>
    before === null || after === null ? [] : [[key, { before, after }] as const],
  )
}

/** Returns the addresses in lower case, without duplicates. Pure. */
export function distinct(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.map((one) => one.toLowerCase()))]
}

/** Returns the tokens whose balances must be queried. Pure. */
export function tokensOf(
  { to, data }: Pick<EvmCallRequest, 'to' | 'data'>,
  { changes, grants }: Effects,
): readonly string[] {
  return distinct([
    ...(data === '0x' ? [] : [to]),
    ...changes.flatMap(({ asset }) => (asset === null ? [] : [asset])),
    ...grants.map(({ asset }) => asset),
  ])
}

/** Returns the addresses in the call's arguments, also in nested calls, without the sender. Pure. */
export function addressesIn({ from, data }: Pick<EvmCallRequest, 'from' | 'data'>): readonly string[] {
  return distinct(addressesOf(data.slice(2), 0)).filter((one) => !sameEvmAddress(one, from))
}

/** Returns the addresses in `call`, which is a selector and 32-byte words, in hexadecimal digits. */
function addressesOf(call: string, depth: number): readonly string[] {
  const words = call.slice(selectorChars).match(/.{64}/g) ?? []
  return words.flatMap((text, at) => {
    const value = BigInt(`0x${text}`)
    if (value >= addressFrom) {
      return value < 2n ** 160n ? [`0x${value.toString(16).padStart(40, '0')}`] : []
    }
    // A length may be followed by the bytes of a nested call, whose words are aligned differently.
    const start = selectorChars + (at + 1) * 64
    const isCall = value % 32n === 4n && value * 2n <= BigInt(call.length - start) && depth < nestedMax
    return isCall ? addressesOf(call.slice(start, start + Number(value) * 2), depth + 1) : []
  })
}
