import { base58 } from '@scure/base'

const addressBytes = 32
/** 32 bytes have 32 characters (only zeros) to 44 in base 58. */
const addressChars = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/**
 * The 32 bytes of an address or a blockhash; null for any other text, including one with look-alike letters. Pure.
 */
export function readAddress(text: string): Uint8Array | null {
  if (!addressChars.test(text)) return null
  const bytes = base58.decode(text)
  return bytes.length === addressBytes ? bytes : null
}
