import { base58 } from '@scure/base'

const addressBytes = 32
/** 32 bytes have 32 characters (zeros alone) to 44 in base 58. */
const addressChars = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** The 32 bytes of an address or a blockhash; null for any other text, also one with letters that only look right. Pure. */
export function readAddress(text: string): Uint8Array | null {
  if (!addressChars.test(text)) return null
  const bytes = base58.decode(text)
  return bytes.length === addressBytes ? bytes : null
}
