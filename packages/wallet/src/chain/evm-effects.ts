import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Effects, Grant } from './paying-chain.ts'

export interface EvmLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

const topicOf = (signature: string): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(signature))).toString('hex')}`
const topics = {
  transfer: topicOf('Transfer(address,address,uint256)'),
  approval: topicOf('Approval(address,address,uint256)'),
  approvalForAll: topicOf('ApprovalForAll(address,address,bool)'),
  single: topicOf('TransferSingle(address,address,address,uint256,uint256)'),
  batch: topicOf('TransferBatch(address,address,address,uint256[],uint256[])'),
  /** ERC-777: an operator may send all tokens of the holder. */
  operatorSet: topicOf('AuthorizedOperator(address,address)'),
  operatorGone: topicOf('RevokedOperator(address,address)'),
  /** ERC-6909: one contract for many tokens. */
  multiTransfer: topicOf('Transfer(address,address,address,uint256,uint256)'),
  multiApproval: topicOf('Approval(address,address,uint256,uint256)'),
  multiOperator: topicOf('OperatorSet(address,address,bool)'),
  /** Permit2 keeps allowances itself instead of in the token. */
  permit2Approval: topicOf('Approval(address,address,address,uint160,uint48)'),
  permit2Permit: topicOf('Permit(address,address,address,uint160,uint48,uint48)'),
} as const

/** An allowance of at least half the type's range counts as unlimited, because no token has such a supply. */
export const unlimitedFrom = { uint256: 2n ** 255n, uint160: 2n ** 159n } as const

/** The pseudo-token under which a simulation logs transfers of the coin; no contract can have this address. */
export const coinLogger = `0x${'e'.repeat(40)}`

/** Builds a Transfer log as a token writes it. Pure. */
export function transferLog(
  address: string,
  { from, to, raw }: { readonly from: string; readonly to: string; readonly raw: bigint },
): EvmLog {
  const padded = (one: string): string => `0x${one.slice(2).padStart(64, '0')}`
  return {
    address,
    topics: [topics.transfer, padded(from), padded(to)],
    data: `0x${raw.toString(16).padStart(64, '0')}`,
  }
}

/** The maximum number of items of a logged batch that are read one by one; a larger batch counts as one item. */
const batchMax = 256

interface TransferSeen {
  /** The address of the asset; null for the coin of the chain. */
  readonly asset: string | null
  /** The id of one collectible of the asset; empty for coins and fungible tokens. */
  readonly item: string
  readonly from: string
  readonly to: string
  readonly raw: bigint
}

/**
 * `place` is the storage slot of the allowance, of which the last value counts. A spender's
 * allowances for one asset can have several slots.
 */
interface GrantSeen extends Grant {
  readonly place: string
}

/**
 * Returns the effects of a transaction's logs on `owner`. A token can hide only its own transfers by not
 * logging them, and logs of other contracts cannot cancel what the token logged. A contract of collectibles (ERC-721,
 * ERC-1155, ERC-6909) counts as one asset, and one item that comes in does not cancel another that leaves. Addresses
 * are in lower case. Pure.
 */
export function effectsOf(
  owner: string,
  { logs, sentRaw }: { readonly logs: readonly EvmLog[]; readonly sentRaw: bigint },
): Effects {
  const grants = new Map<string, GrantSeen>()
  const moves = logs.flatMap(transfersOf).filter(({ from, to }) => from !== to)
  const me = owner.toLowerCase()
  for (const log of logs) {
    const grant = grantOf(log, me)
    if (grant !== null) grants.set(grant.place, grant)
  }
  return {
    changes: [
      // The call's value counts as spent in full, even if coins come back to the sender.
      ...(sentRaw > 0n ? [{ asset: null, raw: -sentRaw }] : []),
      ...changesOf(me, moves),
    ],
    payees: payeesOf(me, moves),
    grants: summed([...grants.values()].filter(({ raw, unlimited }) => unlimited || raw > 0n)),
  }
}

/**
 * Returns the change of each token of `me`. Items of a token that arrive do not offset items of that token that
 * leave.
 */
function changesOf(me: string, moves: readonly TransferSeen[]): Effects['changes'] {
  const tokens = new Map<string, Map<string, bigint>>()
  for (const { asset, item, from, to, raw } of moves) {
    if (asset === null || (from !== me && to !== me)) continue
    const items = tokens.get(asset) ?? new Map<string, bigint>()
    tokens.set(asset, items.set(item, (items.get(item) ?? 0n) + (from === me ? -raw : raw)))
  }
  return [...tokens].flatMap(([asset, items]) => {
    const changes = [...items.values()]
    const left = changes.filter((raw) => raw < 0n)
    const raw = (left.length > 0 ? left : changes).reduce((sum, one) => sum + one, 0n)
    return raw === 0n ? [] : [{ asset, raw }]
  })
}

/**
 * Returns the recipients of transfers from `me`, and addresses that end up with more of an asset
 * that left: otherwise a contract that forwards a payment would hide its recipient.
 */
function payeesOf(me: string, moves: readonly TransferSeen[]): readonly string[] {
  const payees = new Set<string>()
  const left = new Set<string | null>()
  for (const { asset, from, to } of moves) {
    if (from !== me) continue
    payees.add(to)
    left.add(asset)
  }
  for (const one of left) {
    for (const address of gainersOf(one, moves)) if (address !== me) payees.add(address)
  }
  return [...payees]
}

function gainersOf(one: string | null, moves: readonly TransferSeen[]): readonly string[] {
  const gained = new Map<string, { readonly address: string; readonly raw: bigint }>()
  const add = (address: string, item: string, raw: bigint): void => {
    const key = `${address} ${item}`
    gained.set(key, { address, raw: (gained.get(key)?.raw ?? 0n) + raw })
  }
  for (const { asset, item, from, to, raw } of moves) {
    if (asset !== one) continue
    add(from, item, -raw)
    add(to, item, raw)
  }
  const gainers = [...gained.values()].filter(({ address, raw }) => raw > 0n && !isNobody(address))
  return [...new Set(gainers.map(({ address }) => address))]
}

/**
 * Returns addresses that end up with more of any asset, also if `owner` loses nothing: a call can
 * release to another address what an earlier payment had deposited. Pure.
 */
export function gainersIn(owner: string, logs: readonly EvmLog[]): readonly string[] {
  const moves = logs.flatMap(transfersOf)
  const gainers = [...new Set(moves.map(({ asset }) => asset))].flatMap((one) => gainersOf(one, moves))
  return [...new Set(gainers)].filter((address) => address !== owner.toLowerCase())
}

/** Returns the allowances of one spender for one asset, summed over all storage places. */
function summed(grants: readonly GrantSeen[]): readonly Grant[] {
  const sums = new Map<string, Grant>()
  for (const { asset, spender, raw, unlimited } of grants) {
    const key = `${asset} ${spender}`
    const other = sums.get(key)
    sums.set(key, {
      asset,
      spender,
      raw: raw + (other?.raw ?? 0n),
      unlimited: unlimited || (other?.unlimited ?? false),
    })
  }
  return [...sums.values()]
}

function transfersOf(log: EvmLog): readonly TransferSeen[] {
  const {
    topics: [kind, first, second, third],
    data,
  } = log
  const logger = log.address.toLowerCase()
  const asset = logger === coinLogger ? null : logger
  if (kind === topics.transfer && first !== undefined && second !== undefined) {
    const between = { asset, from: addressIn(first), to: addressIn(second) }
    return [
      third === undefined
        ? { ...between, item: '', raw: word(data, 0) }
        : { ...between, item: third, raw: 1n },
    ]
  }
  if ((kind === topics.single || kind === topics.batch) && second !== undefined && third !== undefined) {
    const between = { asset, from: addressIn(second), to: addressIn(third) }
    const items = kind === topics.single ? [[word(data, 0), word(data, 1)] as const] : batchOf(data)
    return items.map(([id, raw]) => ({ ...between, item: String(id), raw: atLeastOne(raw) }))
  }
  if (kind === topics.multiTransfer && first !== undefined && second !== undefined) {
    const between = { asset, from: addressIn(first), to: addressIn(second) }
    return [{ ...between, item: third ?? '', raw: atLeastOne(word(data, 1)) }]
  }
  return []
}

/** Returns ids and amounts of an ERC-1155 batch; one item of an unknown id if they cannot be read. */
function batchOf(data: string): readonly (readonly [id: bigint, raw: bigint])[] {
  const [ids, amounts] = [listAt(data, 0), listAt(data, 1)]
  if (ids === null || amounts === null || ids.length !== amounts.length || ids.length === 0) return [[0n, 1n]]
  return ids.map((id, at) => [id, amounts[at] ?? 1n])
}

/**
 * Returns the list of numbers whose position is in the word at `at`; null if the data has no such list or it is too
 * long.
 */
function listAt(data: string, at: number): readonly bigint[] | null {
  const place = word(data, at)
  const wordCount = BigInt(Math.floor((data.length - 2) / 64))
  if (place % 32n !== 0n || place / 32n >= wordCount) return null
  const start = Number(place / 32n)
  const length = word(data, start)
  if (length > BigInt(batchMax) || BigInt(start) + 1n + length > wordCount) return null
  return Array.from({ length: Number(length) }, (_, index) => word(data, start + 1 + index))
}

/** A logged item counts at least once, also if its log states the amount zero. */
function atLeastOne(raw: bigint): bigint {
  return raw === 0n ? 1n : raw
}

function grantOf(
  { address, topics: [kind, first, second, third], data }: EvmLog,
  me: string,
): GrantSeen | null {
  if (first === undefined || second === undefined) return null
  const asset = address.toLowerCase()
  if ((kind === topics.operatorSet || kind === topics.operatorGone) && addressIn(second) === me) {
    const unlimited = kind === topics.operatorSet
    const operator = addressIn(first)
    return { place: `${asset} all ${operator}`, asset, spender: operator, raw: 0n, unlimited }
  }
  if (addressIn(first) !== me) return null
  const spender = addressIn(second)
  if (kind === topics.approval) {
    // For an ERC-721 token the log names a token id; it names no spender if the approval was cleared.
    if (third !== undefined) {
      const place = `${asset} thing ${third}`
      return { place, asset, spender, raw: isNobody(spender) ? 0n : 1n, unlimited: false }
    }
    const raw = word(data, 0)
    return { place: `${asset} ${spender}`, asset, spender, raw, unlimited: raw >= unlimitedFrom.uint256 }
  }
  if (kind === topics.multiApproval && third !== undefined) {
    const raw = word(data, 0) === 0n ? 0n : 1n
    return { place: `${asset} thing ${third} ${spender}`, asset, spender, raw, unlimited: false }
  }
  if (kind === topics.approvalForAll || kind === topics.multiOperator) {
    const unlimited = word(data, 0) !== 0n
    return { place: `${asset} all ${spender}`, asset, spender, raw: unlimited ? 1n : 0n, unlimited }
  }
  if ((kind === topics.permit2Approval || kind === topics.permit2Permit) && third !== undefined) {
    const raw = word(data, 0)
    const [of, taker] = [addressIn(second), addressIn(third)]
    return {
      // Another contract, such as Permit2, wrote this log, so it does not change the token's own allowances.
      place: `${of} ${taker} by ${asset}`,
      asset: of,
      spender: taker,
      raw,
      unlimited: raw >= unlimitedFrom.uint160,
    }
  }
  return null
}

function addressIn(topic: string): string {
  return `0x${topic.slice(-40).toLowerCase()}`
}

function isNobody(address: string): boolean {
  return /^0x0{40}$/.test(address)
}

/** Returns the 32-byte word at the index `at`; 0 if the data is too short. */
function word(data: string, at: number): bigint {
  const hex = data.slice(2 + at * 64, 2 + (at + 1) * 64)
  return hex === '' ? 0n : BigInt(`0x${hex}`)
}
