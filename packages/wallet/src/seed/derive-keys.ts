import { createHmac, createPrivateKey, createPublicKey, ECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58 } from '@scure/base'
import { HDKey } from '@scure/bip32'

/**
 * How Solana keys are derived from the seed: `hmac` is the HMAC-SHA512 over the path's text of the specification;
 * `slip-10` is what common wallets use, so that the owner finds the same addresses there.
 */
export type SolanaDerivation = 'hmac' | 'slip-10'

/** The PKCS #8 header of a 32-byte Ed25519 key (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the EIP-55 address at BIP-44's m/44'/60'/0'/0/`index`. `seed` is the 64-byte BIP-39 seed. Pure. */
export function evmAddress(seed: Uint8Array, index: number): string {
  const root = HDKey.fromMasterSeed(seed)
  const node = root.derive(`m/44'/60'/0'/0/${index}`)
  try {
    if (node.publicKey === null) throw new Error('this index has no key')
    const point = Buffer.from(
      ECDH.convertKey(node.publicKey, 'secp256k1', undefined, undefined, 'uncompressed'),
    )
    // The first byte of the point only says that the point is uncompressed.
    return checksummed(Buffer.from(keccak_256(point.subarray(1)).subarray(-20)).toString('hex'))
  } finally {
    node.wipePrivateData()
    root.wipePrivateData()
  }
}

/** Returns the 32-byte key at m/44'/60'/0'/0/`index`; the caller wipes the key. Pure. */
export function evmKey(seed: Uint8Array, index: number): Uint8Array {
  const root = HDKey.fromMasterSeed(seed)
  const node = root.derive(`m/44'/60'/0'/0/${index}`)
  try {
    if (node.privateKey === null) throw new Error('this index has no key')
    return new Uint8Array(node.privateKey)
  } finally {
    node.wipePrivateData()
    root.wipePrivateData()
  }
}

/** Returns the base-58 address of the key at m/44'/501'/`index`'/0'. Pure. */
export function solanaAddress(seed: Uint8Array, index: number, derivation: SolanaDerivation): string {
  const key = solanaKey(seed, index, derivation)
  const pkcs8 = Buffer.concat([pkcs8Head, key])
  try {
    const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
    if (x === undefined) throw new Error('this index has no key')
    return base58.encode(Buffer.from(x, 'base64url'))
  } finally {
    key.fill(0)
    pkcs8.fill(0)
  }
}

/** Returns the 32-byte key at m/44'/501'/`index`'/0'; the caller wipes the key. Pure. */
export function solanaKey(seed: Uint8Array, index: number, derivation: SolanaDerivation): Uint8Array {
  return derivation === 'hmac' ? hmacKey(seed, index) : slip10Key(seed, index)
}

function hmacKey(seed: Uint8Array, index: number): Buffer {
  return hmac512(seed, `m/44'/501'/${index}'/0'`).subarray(0, 32)
}

function slip10Key(seed: Uint8Array, index: number): Buffer {
  let node = hmac512('ed25519 seed', seed)
  for (const part of [44, 501, index, 0]) {
    const number = Buffer.alloc(4)
    // SLIP-10 supports only hardened child keys for the curve Ed25519.
    number.writeUInt32BE(part + 0x8000_0000)
    const text = Buffer.concat([Buffer.of(0), node.subarray(0, 32), number])
    const child = hmac512(node.subarray(32), text)
    for (const secret of [text, node]) secret.fill(0)
    node = child
  }
  return node.subarray(0, 32)
}

function hmac512(key: Uint8Array | string, text: Uint8Array | string): Buffer {
  return createHmac('sha512', key).update(text).digest()
}

/** Returns the address in EIP-55 form: the case of each letter encodes a bit of the address's hash. Pure. */
function checksummed(hex: string): string {
  const hash = Buffer.from(keccak_256(Buffer.from(hex))).toString('hex')
  const digits = Array.from(hex, (digit, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${digits.join('')}`
}
