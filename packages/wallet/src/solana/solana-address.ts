import { base58 } from '@scure/base'

/** The length of a Solana address, in bytes. */
const addressBytes = 32
/** Matches 32 bytes in base 58: 32 characters if all bytes are zero, at most 44. */
const addressChars = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Returns the 32 bytes of an address or blockhash; null for other text, also with look-alike letters. Pure. */
export function readAddress(text: string): Uint8Array | null {
  if (!addressChars.test(text)) return null
  const bytes = base58.decode(text)
  return bytes.length === addressBytes ? bytes : null
}
