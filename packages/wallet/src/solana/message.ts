import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { base58 } from '@scure/base'
import { readAddress } from './solana-address.ts'

/**
 * A message with one signer, in the form that is signed: three counts, the number of accounts and
 * the accounts, the blockhash, the instructions. An approval covers everything but the 32 bytes of
 * the blockhash, which are filled in before signing.
 */

const headerBytes = 3
const hashBytes = 32
/** The PKCS #8 header of a 32-byte Ed25519 key (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the offset of the blockhash in a message with one signer; throws for any other bytes. Pure. */
function blockhashAt(message: Uint8Array): number {
  const [signers, , , accounts = 0] = message
  // Versioned messages have the highest bit of this byte set, and so does a count of more than 127.
  if (signers !== 1 || accounts === 0 || accounts > 127) throw new Error('this is no message of one signer')
  const at = headerBytes + 1 + accounts * hashBytes
  if (message.length <= at + hashBytes) throw new Error('this message is cut off')
  return at
}

/** Returns a copy of the message with another blockhash. Pure. */
export function withBlockhash(message: Uint8Array, blockhash: string): Buffer {
  const hash = readAddress(blockhash)
  if (hash === null) throw new Error('this is no blockhash')
  const placed = Buffer.from(message)
  placed.set(hash, blockhashAt(message))
  return placed
}

/** Returns the wire form with a zero signature, for requests in which the endpoint verifies no signature. Pure. */
export function unsignedWire(message: Uint8Array): string {
  return wire(Buffer.alloc(64), message)
}

/**
 * Returns the signed transaction and its signature, which is its id. `key` is the 32-byte Ed25519
 * key; throws if it is not the key of the message's one signer. Pure.
 */
export function signMessage(
  message: Uint8Array,
  key: Uint8Array,
): { readonly id: string; readonly bytes: string } {
  // Throws if `message` is not a message with one signer.
  blockhashAt(message)
  const signer = message.subarray(headerBytes + 1, headerBytes + 1 + hashBytes)
  const pkcs8 = Buffer.concat([pkcs8Head, key])
  try {
    const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
    if (!Buffer.from(x, 'base64url').equals(signer)) throw new Error('this key is not that of the payer')
    const signature = sign(null, message, privateKey)
    return { id: base58.encode(signature), bytes: wire(signature, message) }
  } finally {
    pkcs8.fill(0)
  }
}

function wire(signature: Uint8Array, message: Uint8Array): string {
  return Buffer.concat([Buffer.of(1), signature, message]).toString('base64')
}
