import type { Effects, Order } from '../chain/paying-chain.ts'
import { isSameAddress } from '../chain/address-key.ts'

/** An amount of at least half the type's range means unlimited, because no token has such a supply. */
const unlimitedFrom = 2n ** 255n

/** The amounts and allowances that an order states, each asset once, before an RPC endpoint is called. */
export interface Ordered {
  readonly moves: readonly { readonly asset: string | null; readonly to: string; readonly raw: bigint }[]
  readonly lets: readonly { readonly asset: string; readonly spender: string; readonly raw: bigint }[]
}

type TokenCall = (
  args: readonly unknown[],
  on: { readonly contract: string; readonly from: string },
) => Partial<Ordered>

const transferOf: TokenCall = ([to, raw], { contract }) => moves(contract, to, raw)
const transferFromOf: TokenCall = ([owner, to, raw], { contract, from }) =>
  isOwn(owner, from) ? moves(contract, to, raw) : {}
const burnFromOf: TokenCall = ([owner, raw], { contract, from }) =>
  isOwn(owner, from) ? moves(contract, contract, raw) : {}
const approveOf: TokenCall = ([spender, raw], { contract }) => lets(contract, spender, raw)
const permitOf: TokenCall = ([owner, spender, raw], { contract, from }) =>
  isOwn(owner, from) ? lets(contract, spender, raw) : {}
/** An allowance without a limit. */
const unlimited = String(2n ** 256n - 1n)

/** Token functions whose arguments state the amount; arguments of other functions say nothing about amounts. */
const tokenCalls: Readonly<Record<string, TokenCall>> = {
  'transfer(address,uint256)': transferOf,
  'transferAndCall(address,uint256)': transferOf,
  'transferAndCall(address,uint256,bytes)': transferOf,
  'transferFrom(address,address,uint256)': transferFromOf,
  'transferFromAndCall(address,address,uint256)': transferFromOf,
  'transferFromAndCall(address,address,uint256,bytes)': transferFromOf,
  'burn(uint256)': ([raw], { contract }) => moves(contract, contract, raw),
  'burnFrom(address,uint256)': burnFromOf,
  'approve(address,uint256)': approveOf,
  'approveAndCall(address,uint256)': approveOf,
  'approveAndCall(address,uint256,bytes)': approveOf,
  'increaseAllowance(address,uint256)': approveOf,
  'increaseApproval(address,uint256)': approveOf,
  'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)': permitOf,
  'permit(address,address,uint256,uint256,bytes)': permitOf,
  // DAI's `permit` allows everything or nothing, and DAI has two more names for a transfer.
  'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)': (
    [owner, spender, , , isAllowed],
    { contract, from },
  ) => (isOwn(owner, from) && isAllowed !== false ? lets(contract, spender, unlimited) : {}),
  'push(address,uint256)': transferOf,
  'move(address,address,uint256)': transferFromOf,
  // ERC-777
  'send(address,uint256,bytes)': transferOf,
  'operatorSend(address,address,uint256,bytes,bytes)': transferFromOf,
  'burn(uint256,bytes)': ([raw], { contract }) => moves(contract, contract, raw),
  'operatorBurn(address,uint256,bytes,bytes)': burnFromOf,
  'authorizeOperator(address)': ([operator], { contract }) => lets(contract, operator, unlimited),
  // Permit2 keeps allowances of other tokens.
  'approve(address,address,uint160,uint48)': ([token, spender, raw]) => lets(token, spender, raw),
  'transferFrom(address,address,uint160,address)': ([owner, to, raw, token], { from }) =>
    isOwn(owner, from) ? moves(token, to, raw) : {},
}

/** Returns the amounts that an order states. `called` is the called function by name and types. Pure. */
export function orderedAmounts(order: Order, { from, called }: { from: string; called: string }): Ordered {
  if (order.do === 'transfer')
    return { moves: [{ asset: order.asset, to: order.to, raw: order.raw }], lets: [] }
  const coin = order.raw > 0n ? [{ asset: null, to: order.contract, raw: order.raw }] : []
  // If the chain does not normalize `called`, parameter names may follow their types.
  const name = called.replaceAll(/([a-z0-9])\s+[^,()\s]+/g, '$1').replaceAll(/\s/g, '')
  const token = Object.hasOwn(tokenCalls, name)
    ? tokenCalls[name]?.(order.call.args, { contract: order.contract, from })
    : undefined
  return { moves: [...coin, ...(token?.moves ?? [])], lets: token?.lets ?? [] }
}

/**
 * Returns effects with at least the ordered amounts and allowances, because a simulation sees only what
 * a token reports. `short` lists the assets of which the simulation showed less; null is the coin. Pure.
 */
export function atLeastOrdered(
  seen: Effects | null,
  ordered: Ordered,
): { readonly effects: Effects; readonly short: readonly (string | null)[] } {
  const changes = [...(seen?.changes ?? [])]
  const grants = [...(seen?.grants ?? [])]
  const short: (string | null)[] = []
  for (const { asset, raw } of ordered.moves) {
    const at = changes.findIndex((one) => isSameAsset(one.asset, asset))
    const shown = changes[at]
    if (shown !== undefined && shown.raw <= -raw) continue
    short.push(asset)
    if (shown === undefined) changes.push({ asset, raw: -raw })
    else changes[at] = { asset: shown.asset, raw: -raw }
  }
  for (const { asset, spender, raw } of ordered.lets) {
    const at = grants.findIndex((one) => isSameAsset(one.asset, asset) && isSameAddress(one.spender, spender))
    const shown = grants[at]
    if (shown !== undefined && (shown.unlimited || shown.raw >= raw)) continue
    short.push(asset)
    const grant = { asset, spender, ...shown, raw, unlimited: raw >= unlimitedFrom }
    if (shown === undefined) grants.push(grant)
    else grants[at] = grant
  }
  return { effects: { changes, payees: seen?.payees ?? [], grants }, short }
}

/** True if both are the same asset; null is the coin of the chain. Pure. */
export function isSameAsset(one: string | null, other: string | null): boolean {
  return one === null || other === null ? one === other : isSameAddress(one, other)
}

function moves(asset: unknown, to: unknown, amount: unknown): Partial<Ordered> {
  const raw = wholeOf(amount)
  return typeof asset === 'string' && typeof to === 'string' && raw > 0n
    ? { moves: [{ asset, to, raw }] }
    : {}
}

function lets(asset: unknown, spender: unknown, amount: unknown): Partial<Ordered> {
  const raw = wholeOf(amount)
  return typeof asset === 'string' && typeof spender === 'string' && raw > 0n
    ? { lets: [{ asset, spender, raw }] }
    : {}
}

function isOwn(owner: unknown, from: string): boolean {
  return typeof owner === 'string' && isSameAddress(owner, from)
}

/**
 * Returns a JSON argument as an integer, from digits in a text or a number. 0 for others, which every chain rejects.
 */
function wholeOf(amount: unknown): bigint {
  if (typeof amount === 'number') return Number.isSafeInteger(amount) ? BigInt(amount) : 0n
  return typeof amount === 'string' && /^\d{1,78}$/.test(amount) ? BigInt(amount) : 0n
}
