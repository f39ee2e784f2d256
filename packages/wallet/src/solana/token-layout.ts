import { base58 } from '@scure/base'

/** The account layout that both token programs share; other programs' accounts are not trusted. Little-endian. */

export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

/** The length of the data of a token's mint account, in bytes. */
const mintBytes = 82
/** The length of the data of a token account, in bytes. */
const accountBytes = 165
/** The length of a multisig of either program, which no mint and no account has. */
const multisigBytes = 355
const kinds = { mint: 1, account: 2 } as const

/** Extensions by their Token-2022 number; each has its own content. */
export type Extensions = ReadonlyMap<number, Buffer>

export interface Mint {
  readonly supplyRaw: bigint
  readonly decimals: number
  /** Whether an authority may freeze accounts of this token. */
  readonly canFreeze: boolean
  readonly extensions: Extensions
}

export interface TokenAccount {
  readonly mint: string
  readonly owner: string
  readonly raw: bigint
  readonly frozen: boolean
}

/** Parses a mint account; null if the data is not an initialized mint. Pure. */
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

/** Parses a token account; null if the data is not an initialized token account. Pure. */
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
 * Returns the extensions after the base data; null if invalid. Base data is padded to an account's length;
 * then comes the account kind, then number, length and bytes of each extension, until zeros or the end.
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
