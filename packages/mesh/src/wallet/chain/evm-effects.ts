import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Effects, Grant } from './paying-chain.ts'
import { sameEvmAddress } from './evm-address.ts'

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
  /** Of Permit2, whose allowances are taken from it instead of from the token. */
  permit2Approval: topicOf('Approval(address,address,address,uint160,uint48)'),
  permit2Permit: topicOf('Permit(address,address,address,uint160,uint48,uint48)'),
} as const

/** From half of what its type can hold: no token has so much, whoever writes it means all. */
const unlimitedFrom = { uint256: 2n ** 255n, uint160: 2n ** 159n } as const

export interface TransferSeen {
  readonly asset: string
  readonly from: string
  readonly to: string
  readonly raw: bigint
}

/**
 * What the logs of a transaction say of `owner`. A token speaks for itself here: one that keeps silent about a transfer
 * can hide that of itself alone. Things that are counted one by one (ERC-721, ERC-1155) are an asset of one each. Pure.
 */
export function effectsOf(
  owner: string,
  {
    logs,
    sentRaw,
    named,
  }: { readonly logs: readonly EvmLog[]; readonly sentRaw: bigint; readonly named: string },
): Effects {
  const changes = new Map<string | null, bigint>()
  const payees = new Set<string>()
  const grants = new Map<string, Grant>()
  // What goes along leaves for certain; what comes back of it is not counted.
  if (sentRaw > 0n) changes.set(null, -sentRaw)
  for (const log of logs) {
    for (const { asset, from, to, raw } of transfersOf(log)) {
      if (sameEvmAddress(from, to)) continue
      if (sameEvmAddress(from, owner)) {
        changes.set(asset, (changes.get(asset) ?? 0n) - raw)
        if (!sameEvmAddress(to, named)) payees.add(to)
      } else if (sameEvmAddress(to, owner)) changes.set(asset, (changes.get(asset) ?? 0n) + raw)
    }
    const grant = grantOf(log, owner)
    // The last word of several is the one that holds.
    if (grant !== null) grants.set(`${grant.asset} ${grant.spender}`, grant)
  }
  return {
    changes: [...changes].map(([asset, raw]) => ({ asset, raw })).filter(({ raw }) => raw !== 0n),
    payees: [...payees],
    grants: [...grants.values()].filter(({ raw, unlimited }) => unlimited || raw > 0n),
  }
}

function transfersOf({
  address: asset,
  topics: [kind, first, second, third],
  data,
}: EvmLog): readonly TransferSeen[] {
  if (kind === topics.transfer && first !== undefined && second !== undefined) {
    const raw = third === undefined ? word(data, 0) : 1n
    return [{ asset, from: addressIn(first), to: addressIn(second), raw }]
  }
  if ((kind === topics.single || kind === topics.batch) && second !== undefined && third !== undefined) {
    return [{ asset, from: addressIn(second), to: addressIn(third), raw: 1n }]
  }
  return []
}

function grantOf(
  { address, topics: [kind, first, second, third], data }: EvmLog,
  owner: string,
): Grant | null {
  if (first === undefined || second === undefined || !sameEvmAddress(addressIn(first), owner)) return null
  const spender = addressIn(second)
  if (kind === topics.approval) {
    // Of an ERC-721 it names one thing, or nobody any more.
    if (third !== undefined)
      return { asset: address, spender, raw: isNobody(spender) ? 0n : 1n, unlimited: false }
    const raw = word(data, 0)
    return { asset: address, spender, raw, unlimited: raw >= unlimitedFrom.uint256 }
  }
  if (kind === topics.approvalForAll) {
    const unlimited = word(data, 0) !== 0n
    return { asset: address, spender, raw: unlimited ? 1n : 0n, unlimited }
  }
  if ((kind === topics.permit2Approval || kind === topics.permit2Permit) && third !== undefined) {
    const raw = word(data, 0)
    return { asset: spender, spender: addressIn(third), raw, unlimited: raw >= unlimitedFrom.uint160 }
  }
  return null
}

function addressIn(topic: string): string {
  return `0x${topic.slice(-40)}`
}

function isNobody(address: string): boolean {
  return /^0x0{40}$/.test(address)
}

/** The 32 bytes at that place; 0 where there are none. */
function word(data: string, at: number): bigint {
  const hex = data.slice(2 + at * 64, 2 + (at + 1) * 64)
  return hex === '' ? 0n : BigInt(`0x${hex}`)
}
