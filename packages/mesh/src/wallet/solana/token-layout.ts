import { base58 } from '@scure/base'

/** What both token programs write into an account, and nothing else of it is believed. Little-endian throughout. */

export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

const mintBytes = 82
const accountBytes = 165
/** The length of a multisig of either program, which no mint and no account has. */
const multisigBytes = 355
const kinds = { mint: 1, account: 2 } as const

/** By number, as Token-2022 counts them; what each holds is its own. */
export type Extensions = ReadonlyMap<number, Buffer>

export interface Mint {
  readonly supplyRaw: bigint
  readonly decimals: number
  /** Whether somebody may freeze accounts of this token. */
  readonly canFreeze: boolean
  readonly extensions: Extensions
}

export interface TokenAccount {
  readonly mint: string
  readonly owner: string
  readonly raw: bigint
  readonly frozen: boolean
}

/** Null for what is no mint, or not yet one. Pure. */
export function readMint(data: Buffer): Mint | null {
  const extensions = readExtensions(data, mintBytes, kinds.mint)
  if (extensions === null || data.readUInt8(45) !== 1) return null
  return {
    supplyRaw: data.readBigUInt64LE(36),
    decimals: data.readUInt8(44),
    canFreeze: data.readUInt32LE(46) !== 0,
    extensions,
  }
}

/** Null for what is no account of a token, or not yet one. Pure. */
export function readTokenAccount(data: Buffer): TokenAccount | null {
  const extensions = readExtensions(data, accountBytes, kinds.account)
  if (extensions === null) return null
  const state = data.readUInt8(108)
  if (state !== 1 && state !== 2) return null
  return {
    mint: base58.encode(data.subarray(0, 32)),
    owner: base58.encode(data.subarray(32, 64)),
    raw: data.readBigUInt64LE(64),
    frozen: state === 2,
  }
}

/**
 * What stands behind the first bytes. Both kinds are filled up to the length of an account; then comes which of the two
 * it is, then number, length and bytes of one extension after the other, until zeros or the end.
 */
function readExtensions(data: Buffer, plainBytes: number, kind: number): Extensions | null {
  const found = new Map<number, Buffer>()
  if (data.length === plainBytes) return found
  if (data.length === multisigBytes || data[accountBytes] !== kind) return null
  if (data.subarray(plainBytes, accountBytes).some((byte) => byte !== 0)) return null
  let at = accountBytes + 1
  while (at + 2 <= data.length) {
    const number = data.readUInt16LE(at)
    if (number === 0) break
    if (at + 4 > data.length || found.has(number)) return null
    const end = at + 4 + data.readUInt16LE(at + 2)
    if (end > data.length) return null
    found.set(number, data.subarray(at + 4, end))
    at = end
  }
  return found
}
